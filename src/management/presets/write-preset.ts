import type { PresetRecord, PresetVersionRecord } from '../../platform/storage/ports/presets.ts';
import { writeNullableTime, writeTime } from '../write-time.ts';
import type { FoundPreset } from './find-preset.ts';
import { readConfig } from './save-preset.ts';

/** `Preset` of the interface. @see docs/reference/presets.md */
export const writePreset = (preset: PresetRecord) => ({
  id: preset.id,
  slug: preset.slug,
  name: preset.name,
  description: preset.description,
  status: preset.status,
  status_updated_at: writeNullableTime(preset.statusUpdatedAtMs),
  designated_version_id: preset.designatedVersionId,
  creator_user_id: preset.creatorMemberId,
  workspace_id: preset.workspaceId,
  created_at: writeTime(preset.createdAtMs),
  updated_at: writeTime(preset.updatedAtMs),
});

/** `PresetVersion` of the interface. */
export const writePresetVersion = (version: PresetVersionRecord) => ({
  id: version.id,
  preset_id: version.presetId,
  version: version.version,
  config: readConfig(version),
  system_prompt: version.systemPrompt,
  creator_id: version.creatorId,
  created_at: writeTime(version.createdAtMs),
  updated_at: writeTime(version.createdAtMs), // a version never changes
});

/** A preset with its designated version. */
export const writeFoundPreset = ({ preset, version }: FoundPreset) => ({
  ...writePreset(preset),
  designated_version: writePresetVersion(version),
});
