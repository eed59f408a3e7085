import { Type } from 'typebox';
import { presetStatuses } from '../../domain/preset.ts';
import { anyObject, maybe, oneOf } from '../../schema/shapes.ts';
import { type CheckedBody, both, createBodyCheck, plainText, strictBody } from '../check-body.ts';

const slug = Type.String({
  maxLength: 64,
  pattern: '^[a-z0-9]+(?:[-_][a-z0-9]+)*$',
  says: 'must be lower-case letters, digits, and single hyphens or underscores between them',
});

const settings = {
  name: Type.Optional(plainText({ minLength: 1, maxLength: 100 })),
  description: maybe(Type.String({ maxLength: 500 })),
  status: Type.Optional(oneOf(...presetStatuses)),
  config: Type.Optional(anyObject()),
  system_prompt: maybe(Type.String({ maxLength: 200_000 })),
};

const createPreset = strictBody({ slug, ...settings });
const updatePreset = strictBody(
  {
    slug: Type.Optional(slug),
    ...settings,
    designated_version: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { not: { anyOf: [both('designated_version', 'config'), both('designated_version', 'system_prompt')] } },
);

export type CreatePresetBody = CheckedBody<typeof createPreset>;
export type UpdatePresetBody = CheckedBody<typeof updatePreset>;
export const checkCreatePreset = createBodyCheck(createPreset);
export const checkUpdatePreset = createBodyCheck(updatePreset);
/** For a slug in a path. */
export const checkPresetSlug = createBodyCheck(strictBody({ slug }));
