import { GatewayError } from '../../domain/errors.ts';
import type { PresetReader, PresetRecord, PresetVersionRecord } from '../../platform/storage/ports/presets.ts';

/** A preset with its designated version. */
export interface FoundPreset {
  preset: PresetRecord;
  version: PresetVersionRecord;
}

/** The party that reads or changes presets: the workspace of its key. */
export interface PresetScope {
  workspaceId: string;
  /** Null: the key acts as the organization, or it is the operator. */
  memberId: string | null;
}

/** Returns a preset of the workspace. @throws {GatewayError} `not_found` */
export async function getPreset(
  from: Pick<PresetReader, 'findPreset' | 'findDesignatedVersion'>,
  { workspaceId }: Pick<PresetScope, 'workspaceId'>,
  slug: string,
): Promise<FoundPreset> {
  const preset = await from.findPreset(workspaceId, slug);
  const version = preset && (await from.findDesignatedVersion(preset.designatedVersionId));
  if (!preset || !version) throw presetMissing(slug);
  return { preset, version };
}

/** Returns a version of a preset. @throws {GatewayError} `not_found` */
export async function getPresetVersion(
  from: Pick<PresetReader, 'findPresetVersion'>,
  { id, slug }: PresetRecord,
  number: number,
): Promise<PresetVersionRecord> {
  const version = Number.isSafeInteger(number) ? await from.findPresetVersion(id, number) : undefined;
  if (!version) throw new GatewayError('not_found', `The preset ${slug} has no version ${number}.`);
  return version;
}

const presetMissing = (slug: string): GatewayError =>
  new GatewayError('not_found', `This workspace has no preset with the slug ${slug.slice(0, 100)}.`);
