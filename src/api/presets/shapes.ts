import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import { inData, listOf, number, openObject, text, textOrNull, time, timeOrNull } from '../../openapi/shapes.ts';

const version = named(
  'PresetVersion',
  Type.Object({
    id: text,
    preset_id: text,
    version: number,
    config: openObject,
    system_prompt: textOrNull,
    creator_id: textOrNull,
    created_at: time,
    updated_at: time,
  }),
);

const presetFields = {
  id: text,
  slug: text,
  name: text,
  description: textOrNull,
  status: text,
  status_updated_at: timeOrNull,
  designated_version_id: textOrNull,
  creator_user_id: textOrNull,
  workspace_id: text,
  created_at: time,
  updated_at: time,
};
const foundPreset = named('PresetWithVersion', Type.Object({ ...presetFields, designated_version: version }));

/** @see docs/reference/presets.md */
export const presetList = listOf(named('Preset', Type.Object(presetFields)));
export const onePreset = inData(foundPreset);
export const presetFromRequest = inData(foundPreset, { ignored_fields: Type.Optional(Type.Array(text)) });
export const presetVersionList = listOf(version);
export const onePresetVersion = inData(version);
