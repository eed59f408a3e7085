import { type Static, Type } from 'typebox';
import { parseSlug } from '../../catalog/slug.ts';
import { maybe, oneOf } from '../../schema/shapes.ts';
import { strictBody, createBodyCheck, plainText, usdAmount } from '../check-body.ts';

/** Most entries of a list, and characters of an entry: those of the router plugins. */
const maxEntries = 1024;
const maxIdLength = 256;

const entry = plainText({ minLength: 1, maxLength: 1024 });

/** A router or an alias is no model: it chooses among those that are allowed. */
const model = Type.Refine(
  Type.Refine(
    entry,
    (text) => !/^(router\/|~|@preset\/)/i.test(text),
    (text) => `must be a model or a pattern, got ${quote(text)}, which chooses among the models that are allowed`,
  ),
  (text) => {
    const { sort, tiers } = parseSlug(text);
    return sort === undefined && tiers.length === 0;
  },
  (text) => `must be a model or a pattern without :nitro, :floor and :exacto, got ${quote(text)}`,
);
const quote = (text: string): string => JSON.stringify(text).slice(0, 100);

const listOf = <Schema extends typeof entry>(schema: Schema) =>
  maybe(Type.Array(schema, { minItems: 1, maxItems: maxEntries }));

const actions = oneOf('redact', 'block', 'flag');
const flag = () => maybe(Type.Boolean());

const name = plainText({ minLength: 1, maxLength: 200 });
const settings = {
  description: maybe(Type.String({ maxLength: 1000 })),
  limit_usd: maybe(usdAmount(1e-9)),
  reset_interval: maybe(oneOf('daily', 'weekly', 'monthly')),
  include_byok_in_budgets: Type.Optional(Type.Boolean()),
  allowed_models: listOf(model),
  ignored_models: listOf(model),
  allowed_providers: listOf(entry),
  ignored_providers: listOf(entry),
  allowed_data_regions: maybe(Type.Array(oneOf('global', 'europe', 'us'))),
  content_filters: maybe(
    Type.Array(
      strictBody({
        pattern: Type.String({ minLength: 1, maxLength: 100_000 }),
        action: actions,
        label: maybe(Type.String({ maxLength: 100 })),
      }),
    ),
  ),
  content_filter_builtins: maybe(
    Type.Array(
      strictBody({
        slug: oneOf(
          ...(['email', 'phone', 'ssn', 'credit-card', 'ip-address', 'secrets', 'person-name', 'address'] as const),
          'regex-prompt-injection',
        ),
        action: actions,
        label: Type.Optional(Type.String({ maxLength: 100 })),
        scan_scope: Type.Optional(oneOf('user_only', 'all_messages')),
      }),
    ),
  ),
  enforce_zdr: flag(),
  enforce_zdr_anthropic: flag(),
  enforce_zdr_openai: flag(),
  enforce_zdr_google: flag(),
  enforce_zdr_xai: flag(),
  enforce_zdr_other: flag(),
  enable_paid_model_training: flag(),
  enable_free_model_training: flag(),
  enable_free_model_publication: flag(),
};

/** @see platform.schema.json, "CreateGuardrailRequest" */
const createGuardrail = strictBody({
  name,
  workspace_id: Type.Optional(plainText({ minLength: 1, maxLength: maxIdLength })),
  ...settings,
});
/** @see platform.schema.json, "UpdateGuardrailRequest" */
const updateGuardrail = strictBody({ name: Type.Optional(name), ...settings });

const holders = Type.Array(plainText({ minLength: 1, maxLength: maxIdLength }), { minItems: 1, maxItems: 100 });

export type CreateGuardrailBody = Static<typeof createGuardrail>;
export type UpdateGuardrailBody = Static<typeof updateGuardrail>;
export const checkCreateGuardrail = createBodyCheck(createGuardrail);
export const checkUpdateGuardrail = createBodyCheck(updateGuardrail);
export const checkKeyHashes = createBodyCheck(strictBody({ key_hashes: holders }));
/** Ruling 7: `member_user_ids`, not the `user_ids` of the schema file. */
export const checkMemberIds = createBodyCheck(strictBody({ member_user_ids: holders }));
