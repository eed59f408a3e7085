import { MAX_TOOL_CALLS } from '../../domain/max-tool-calls.ts';
import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { byKind } from '../../schema/by-kind.ts';
import {
  anyEffort,
  anyObject,
  cacheControl,
  mapOf,
  maybe,
  nullable,
  oneOf,
  openWord,
  trace,
} from '../../schema/shapes.ts';
import { reasoningContexts, reasoningSummaries, verbosities } from '../../domain/request.ts';
import { maxIdCharacters } from '../session-header.ts';
import { inputItem } from './schema/items.ts';
import { inputFile, inputImage, inputText } from './schema/parts.ts';
import { pluginSetting, textProviderPreferences } from './schema/plugins.ts';
import { toolChoice } from './schema/tool-choice.ts';
import { tool } from './schema/tools.ts';

const promptVariable = Type.Union([
  Type.String(),
  byKind('a prompt variable', 'type', { input_text: inputText, input_image: inputImage, input_file: inputFile }),
]);

/** The last three values belong to the compatible API. Other values reach only endpoints of the same format. */
const include = openWord(
  'file_search_call.results',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'reasoning.encrypted_content',
  'code_interpreter_call.outputs',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.output_text.logprobs',
);

const text = Type.Object({
  format: Type.Optional(
    byKind('a text format', 'type', {
      text: Type.Object({ type: Type.Literal('text') }),
      json_object: Type.Object({ type: Type.Literal('json_object') }),
      json_schema: Type.Object({
        type: Type.Literal('json_schema'),
        name: Type.String(),
        schema: anyObject(),
        description: Type.Optional(Type.String()),
        strict: maybe(Type.Boolean()),
      }),
    }),
  ),
  verbosity: maybe(openWord(...verbosities)),
});

const reasoning = Type.Object({
  effort: maybe(anyEffort),
  max_tokens: maybe(Type.Integer()),
  enabled: maybe(Type.Boolean()),
  summary: maybe(openWord(...reasoningSummaries)),
  context: maybe(openWord(...reasoningContexts)),
  mode: maybe(oneOf('standard', 'pro')),
});

const stopCondition = byKind('a stop condition', 'type', {
  step_count_is: Type.Object({ type: Type.Literal('step_count_is'), step_count: Type.Integer() }),
  has_tool_call: Type.Object({ type: Type.Literal('has_tool_call'), tool_name: Type.String({ minLength: 1 }) }),
  max_tokens_used: Type.Object({ type: Type.Literal('max_tokens_used'), max_tokens: Type.Integer() }),
  max_cost: Type.Object({ type: Type.Literal('max_cost'), max_cost_in_dollars: Type.Number() }),
  finish_reason_is: Type.Object({ type: Type.Literal('finish_reason_is'), reason: Type.String({ minLength: 1 }) }),
});

const metadata = mapOf(Type.String({ maxLength: 512 }), {
  maxProperties: 16,
  propertyNames: Type.String({
    maxLength: 64,
    pattern: '^[^\\[\\]]*$',
    says: 'must be at most 64 characters without `[` or `]`',
  }),
});

const slug = () => Type.String({ minLength: 1 });

/**
 * The body of `POST /responses`. Open: unknown top-level fields are dropped and named in the metadata
 * (docs/reference/responses.md#request-body). `check-tools.ts` and `check-conversation.ts` have the rules that need
 * more than one field.
 *
 * @see docs/reference/responses.md#request-body
 */
export const requestSchema = Type.Object({
  background: maybe(Type.Boolean()),
  cache_control: Type.Optional(cacheControl),
  debug: Type.Optional(Type.Object({ echo_upstream_body: Type.Optional(Type.Boolean()) })),
  frequency_penalty: maybe(Type.Number()),
  image_config: Type.Optional(mapOf(Type.Union([Type.String(), Type.Number(), Type.Array(Type.Unknown())]))),
  include: maybe(Type.Array(include)),
  input: Type.Optional(Type.Union([Type.String(), Type.Array(inputItem)])),
  instructions: maybe(Type.String()),
  max_output_tokens: maybe(Type.Integer({ minimum: 1 })),
  max_tool_calls: maybe(
    Type.Integer({
      minimum: 0,
      // Generators make a field with a default a required one.
      description: 'A higher value is lowered to the maximum, which is the default.',
      documented: { maximum: MAX_TOOL_CALLS },
    }),
  ),
  metadata: Type.Optional(nullable(metadata)),
  modalities: Type.Optional(Type.Array(oneOf('text', 'image'))),
  model: Type.Optional(slug()),
  models: Type.Optional(Type.Array(slug(), { maxItems: 32 })),
  parallel_tool_calls: maybe(Type.Boolean()),
  plugins: Type.Optional(Type.Array(pluginSetting, { maxItems: 100 })),
  presence_penalty: maybe(Type.Number()),
  preset: maybe(Type.String()),
  previous_response_id: Type.Optional(
    Type.Null({ says: 'must be null, because no response is stored; send the whole conversation in `input`' }),
  ),
  prompt: maybe(Type.Object({ id: Type.String(), variables: maybe(mapOf(promptVariable)) })),
  prompt_cache_key: maybe(Type.String()),
  prompt_cache_options: maybe(Type.Object({ mode: Type.Literal('explicit'), ttl: maybe(Type.String()) })),
  provider: maybe(textProviderPreferences),
  reasoning: maybe(reasoning),
  route: Type.Optional(Type.Unknown({ deprecated: true })),
  safety_identifier: maybe(Type.String()),
  service_tier: maybe(oneOf('auto', 'default', 'fast', 'flex', 'priority', 'scale')),
  session_id: Type.Optional(Type.String({ maxLength: maxIdCharacters })),
  stop_server_tools_when: Type.Optional(Type.Union([Type.Array(stopCondition, { minItems: 1 }), stopCondition])),
  store: Type.Optional(Type.Literal(false, { says: 'must be `false`; this service stores no response' })),
  stream: Type.Optional(Type.Boolean()),
  temperature: maybe(Type.Number()),
  text: Type.Optional(text),
  tool_choice: Type.Optional(toolChoice),
  tools: Type.Optional(Type.Array(tool)),
  top_k: Type.Optional(Type.Integer()),
  top_logprobs: maybe(Type.Integer()),
  top_p: maybe(Type.Number()),
  trace: Type.Optional(trace),
  truncation: maybe(oneOf('auto', 'disabled')),
  user: Type.Optional(Type.String({ maxLength: maxIdCharacters })),
});

/** A body that has passed `checkRequest`, unchanged: `input` may be a string, and a message may lack its `type`. */
export type RequestBody = Static<typeof requestSchema>;

/** The documented top-level fields. All others are named in `params.ignored_fields`. */
export const knownRequestFields: ReadonlySet<string> = new Set(Object.keys(requestSchema.properties));

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. `explain-issues.ts` explains the problems. */
export const isRequestBody = createLenientCheck(requestSchema);
