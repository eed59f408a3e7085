import { type Static, Type } from 'typebox';
import { parseSlug } from '../../catalog/slug.ts';
import { builtinSlugs, filterActions, filterSides, scanScopes } from '../../domain/content-filter.ts';
import { textKinds } from '../../guardrails/combine-filters.ts';
import { MAX_CUSTOM_PATTERNS, MAX_LABEL_LENGTH, MAX_PATTERN_LENGTH } from '../../guardrails/custom-pattern.ts';
import { maybe, oneOf } from '../../schema/shapes.ts';
import { type CheckedBody, both, createBodyCheck, none, plainText, strictBody, usdAmount } from '../check-body.ts';

/** Maximum entries of a list, as for the router plugins, and maximum characters of an id. */
const maxEntries = 1024;
const maxIdLength = 256;

const entry = plainText({ minLength: 1, maxLength: 1024 });

/** A model or a pattern. A router or an alias is neither: it chooses among the models that are allowed. */
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

const actions = oneOf(...filterActions);
const applyTo = Type.Optional(Type.Array(oneOf(...filterSides), { minItems: 1, maxItems: filterSides.length }));
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
        pattern: Type.String({ minLength: 1, maxLength: MAX_PATTERN_LENGTH }),
        action: actions,
        label: maybe(plainText({ maxLength: MAX_LABEL_LENGTH })),
        apply_to: applyTo,
      }),
      { maxItems: MAX_CUSTOM_PATTERNS },
    ),
  ),
  content_filter_builtins: maybe(
    Type.Array(
      strictBody({
        slug: oneOf(...builtinSlugs),
        action: actions,
        label: Type.Optional(Type.String({ maxLength: MAX_LABEL_LENGTH })),
        scan_scope: Type.Optional(oneOf(...scanScopes)),
        apply_to: applyTo,
      }),
      { maxItems: builtinSlugs.length * filterSides.length },
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

const createGuardrail = strictBody(
  {
    name,
    workspace_id: Type.Optional(plainText({ minLength: 1, maxLength: maxIdLength })),
    ...settings,
  },
  { dependentRequired: { limit_usd: ['reset_interval'], reset_interval: ['limit_usd'] } },
);
const updateGuardrail = strictBody({ name: Type.Optional(name), ...settings });

const holders = Type.Array(plainText({ minLength: 1, maxLength: maxIdLength }), { minItems: 1, maxItems: 100 });

const testGuardrail = strictBody(
  {
    text: Type.String({ maxLength: 1_000_000 }),
    kind: Type.Optional(oneOf(...textKinds)),
    guardrail_id: Type.Optional(plainText({ minLength: 1, maxLength: maxIdLength })),
    content_filters: settings.content_filters,
    content_filter_builtins: settings.content_filter_builtins,
  },
  {
    not: {
      anyOf: [
        none('guardrail_id', 'content_filters', 'content_filter_builtins'),
        both('guardrail_id', 'content_filters'),
        both('guardrail_id', 'content_filter_builtins'),
      ],
    },
  },
);

export type TestGuardrailBody = CheckedBody<typeof testGuardrail>;
export const checkTestGuardrail = createBodyCheck(testGuardrail);
export type CreateGuardrailBody = CheckedBody<typeof createGuardrail>;
export type UpdateGuardrailBody = CheckedBody<typeof updateGuardrail>;
/** The fields that a guardrail can change, checked or not. */
export type GuardrailSettingsBody = Static<typeof updateGuardrail>;
export const checkCreateGuardrail = createBodyCheck(createGuardrail);
export const checkUpdateGuardrail = createBodyCheck(updateGuardrail);
export const checkKeyHashes = createBodyCheck(strictBody({ key_hashes: holders }));
export const checkMemberUserIds = createBodyCheck(strictBody({ member_user_ids: holders }));
