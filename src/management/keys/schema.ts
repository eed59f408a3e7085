import { Type } from 'typebox';
import { maybe, oneOf } from '../../schema/shapes.ts';
import { type CheckedBody, createBodyCheck, plainText, strictBody, usdAmount } from '../check-body.ts';
import { rateLimitFields } from '../rate-limit-fields.ts';

/** Maximum characters of a name, and of an id that the caller chooses. */
const maxNameLength = 256;
const name = plainText({ minLength: 1, maxLength: maxNameLength });

const limits = {
  limit: maybe(usdAmount(0)),
  limit_reset: maybe(oneOf('daily', 'weekly', 'monthly')),
  include_byok_in_limit: Type.Optional(Type.Boolean()),
  ...rateLimitFields,
};

const utcTime = Type.Refine(
  Type.String({ documented: { format: 'date-time', pattern: '(?:Z|[+-]00:00)$' } }),
  (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]00:00)$/.test(text) && isDate(text),
  (text) => `must be a time in UTC with seconds, like 2027-01-31T12:00:00Z, got ${JSON.stringify(text).slice(0, 60)}`,
);

/** Whether the day exists: `Date.parse` reads the 30th of February as the 2nd of March. */
function isDate(text: string): boolean {
  const ms = Date.parse(text);
  return Number.isFinite(ms) && new Date(ms).toISOString().slice(0, 19) === text.slice(0, 19);
}

const creation = {
  ...limits,
  expires_at: maybe(utcTime),
  creator_user_id: maybe(plainText({ minLength: 1, maxLength: maxNameLength })),
  external: Type.Optional(
    strictBody({
      user: plainText({ maxLength: maxNameLength }),
      api_key: Type.Optional(Type.String()),
    }),
  ),
};
const createKey = strictBody({
  name,
  ...creation,
  workspace_id: Type.Optional(plainText({ minLength: 1, maxLength: maxNameLength })),
});
/** For `provisionKey`: the name has a default, and the workspace is not part of the body. */
const provisionKey = strictBody({ name: Type.Optional(name), ...creation });

const updateKey = strictBody({ name: Type.Optional(name), disabled: Type.Optional(Type.Boolean()), ...limits });

const rotateKey = strictBody({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })) });

export type CreateKeyBody = CheckedBody<typeof createKey>;
export type ProvisionKeyBody = CheckedBody<typeof provisionKey>;
export type UpdateKeyBody = CheckedBody<typeof updateKey>;
/** The limits in the body of a key. */
export type KeyLimitsBody = Pick<UpdateKeyBody, keyof typeof limits>;
export const checkCreateKey = createBodyCheck(createKey);
export const checkProvisionKey = createBodyCheck(provisionKey);
export const checkUpdateKey = createBodyCheck(updateKey);
export const checkRotateKey = createBodyCheck(rotateKey);
