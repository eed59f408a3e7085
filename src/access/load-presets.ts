import type { AppliedPreset, PresetTable } from '../domain/preset.ts';
import type { AccessPresets, PresetSettings } from '../platform/storage/ports/presets.ts';

/** Maximum versions that one query reads. Each has up to 256 KiB. */
const CHUNK = 20;

/**
 * The presets of all workspaces, in memory. Versions never change, so that only new ones are read.
 */
export class PresetMemory {
  private fieldsOf: ReadonlyMap<string, string> = new Map();

  /** @returns the presets by workspace @throws the store's error */
  async load(source: AccessPresets): Promise<ReadonlyMap<string, PresetTable>> {
    const designated = await source.listDesignatedPresets();
    const fieldsOf = new Map<string, string>();
    const missing: string[] = [];
    for (const { versionId } of designated) {
      const known = this.fieldsOf.get(versionId);
      if (known === undefined) missing.push(versionId);
      else fieldsOf.set(versionId, known);
    }
    for (let at = 0; at < missing.length; at += CHUNK) {
      for (const settings of await source.readPresetSettings(missing.slice(at, at + CHUNK))) {
        fieldsOf.set(settings.id, writeFields(settings));
      }
    }
    this.fieldsOf = fieldsOf;
    const tables = new Map<string, Map<string, AppliedPreset>>();
    for (const { workspaceId, slug, version, status, versionId } of designated) {
      const fields = fieldsOf.get(versionId);
      if (fields === undefined) continue; // deleted since the list was read
      const table = tables.get(workspaceId) ?? new Map<string, AppliedPreset>();
      tables.set(workspaceId, table.set(slug, { slug, version, status, fields }));
    }
    return tables;
  }
}

const writeFields = ({ config, systemPrompt }: PresetSettings): string =>
  systemPrompt === null ? config : JSON.stringify({ ...JSON.parse(config), instructions: systemPrompt });
