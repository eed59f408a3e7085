// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { Type } from 'typebox';
import { MAX_WEIGHT, inputModalities, outputModalities, parameterNames, quantizations } from '../../domain/endpoint.ts';
import { imageBillables, imageUnits } from '../../domain/images.ts';
import { optionalMilliseconds, priceField, textField } from './fields.ts';

const tokenPrices = {
  prompt: priceField('USD per input token.'),
  completion: priceField('USD per output token.'),
  cache_read: priceField('USD per input token read from the prompt cache. Absent: as `prompt`.'),
  cache_write: priceField('USD per input token written to the prompt cache. Absent: as `prompt`.'),
  cache_write_1h: priceField('The same, cached for one hour. Absent: as `cache_write`.'),
  reasoning: priceField('USD per reasoning token. Absent: as `completion`.'),
  audio: priceField('USD per audio input token. Absent: as `prompt`.'),
  audio_cache_read: priceField('USD per audio input token read from the prompt cache. Absent: as `cache_read`.'),
  audio_output: priceField('USD per audio output token. Absent: as `completion`.'),
  image_token: priceField('USD per image input token. Absent: as `prompt`.'),
  image_output: priceField('USD per image output token. Absent: as `completion`.'),
};

const pricing = Type.Object({
  ...tokenPrices,
  request: priceField('USD per request.'),
  image: priceField('USD per input image.'),
  web_search: priceField('USD per web search by the provider, or per search unit of `POST /rerank`.'),
  searched_request: priceField('USD per response with at least one web search.'),
  above: Type.Optional(
    Type.Array(
      Type.Object({
        prompt_tokens: Type.Integer({ description: 'For prompts longer than this.', minimum: 1 }),
        ...tokenPrices,
      }),
      { description: 'Other prices for long prompts.' },
    ),
  ),
});

const imageCapability = Type.Object(
  {
    type: Type.Enum(['enum', 'range', 'boolean'], {
      description: 'Type of the parameter.',
    }),
    values: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'With `enum`: all values.' })),
    min: Type.Optional(Type.Integer({ description: 'With `range`.', minimum: 0 })),
    max: Type.Optional(Type.Integer({ description: 'With `range`.', minimum: 0 })),
  },
  { description: 'Supported values of one field of `POST /images`.' },
);

const image = Type.Object({
  parameters: Type.Optional(
    Type.Record(Type.String({ pattern: '^[a-z_]+$' }), imageCapability, {
      description:
        'Every field of `POST /images` that the model supports, and its `type` (`enum` with `values`, `range` with `min` and `max`, `boolean`). Other fields and values are dropped or changed to the nearest. Absent: from the catalog or the wire.',
    }),
  ),
  passthrough: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { description: 'Keys of `provider.options` that are passed on.' }),
  ),
  streaming: Type.Optional(Type.Boolean({ description: 'Whether it sends partial images.' })),
  pricing: Type.Optional(
    Type.Array(
      Type.Object({
        billable: Type.Enum([...imageBillables], { description: 'The charged thing.' }),
        unit: Type.Enum([...imageUnits], { description: 'The unit of the price.' }),
        cost_usd: Type.Number({ description: 'USD per unit.', minimum: 0 }),
        variant: Type.Optional(
          Type.String({ description: 'Tier that the price applies to: `2k`. Absent: any.', minLength: 1 }),
        ),
      }),
      { description: 'Prices of images. The lines are added up.' },
    ),
  ),
});

const capabilities = Type.Object({
  tools: Type.Optional(Type.Boolean({ description: 'Whether it supports tools.' })),
  structured_outputs: Type.Optional(Type.Boolean({ description: 'Whether it supports JSON schemas.' })),
  reasoning: Type.Optional(Type.Boolean({ description: 'Whether it supports reasoning.' })),
  input: Type.Optional(Type.Array(Type.Enum([...inputModalities]), { description: 'Input modalities.' })),
  output: Type.Optional(Type.Array(Type.Enum([...outputModalities]), { description: 'Output modalities.' })),
});

/** The handling of URLs of images and files. */
const urlSettings = ['pass', 'fetch'] as const;

const model = Type.Object({
  model: textField(
    'Slug at the gateway: `openai/gpt-5-mini`. May contain one `*`, which matches any suffix: `local/*`.',
  ),
  upstream_model: Type.Optional(
    textField(
      'Name at the provider. `*` is the suffix that the `*` of `model` matched, and the default of a wildcard. Absent: `model`, and for OpenAI, Azure and Anthropic what follows its last slash.',
    ),
  ),
  rules_of: Type.Optional(
    textField(
      'Name of the model whose rules hold, for a deployment with a name of its own: `gpt-5-mini`. Absent: `upstream_model`, and `model` if that is an ARN.',
    ),
  ),
  dialect: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Settings of `dialect` for this model. They override those of the provider, setting by setting.',
    }),
  ),
  pricing: Type.Optional(pricing),
  context_length: Type.Optional(
    Type.Integer({ description: 'Maximum tokens, input and output together.', minimum: 1 }),
  ),
  max_output_tokens: Type.Optional(Type.Integer({ description: 'Maximum output tokens.', minimum: 1 })),
  max_prompt_tokens: Type.Optional(Type.Integer({ description: 'Maximum input tokens.', minimum: 1 })),
  max_messages: Type.Optional(
    Type.Integer({ description: 'Maximum number of input items. `context-compression` keeps to it.', minimum: 1 }),
  ),
  is_moderated: Type.Optional(
    Type.Boolean({
      description: 'Whether the provider demands moderated inputs. Then `plugins.moderation` checks each input for it.',
    }),
  ),
  quantization: Type.Optional(
    Type.Enum([...quantizations], { description: 'Quantization of the weights. Absent: `unknown`.' }),
  ),
  supported_parameters: Type.Optional(
    Type.Array(Type.Enum([...parameterNames]), {
      description: 'All supported parameters. Others are dropped and reported.',
    }),
  ),
  tier: Type.Optional(
    Type.Enum(['default', 'flex', 'priority'], {
      description:
        'Service tier of this endpoint, selected by `service_tier`, `:nitro` and `:floor`. Absent: the requested tier is passed on.',
    }),
  ),
  tag: Type.Optional(
    textField('Region or variant. `provider.order`, `only` and `ignore` name the endpoint as `<provider>/<tag>`.'),
  ),
  weight: Type.Optional(
    Type.Number({
      description:
        'Share of the model’s requests, relative to the weights of its other endpoints: 1 and 99 are 1 and 99 percent. 0: only a fallback. Absent: the weight of the provider.',
      minimum: 0,
      maximum: MAX_WEIGHT,
    }),
  ),
  distillable: Type.Optional(Type.Boolean({ description: 'Whether its author allows distillation.' })),
  capabilities: Type.Optional(capabilities),
  urls: Type.Optional(Type.Enum([...urlSettings], { description: 'Overrides `urls` of the provider.' })),
  max_batch: Type.Optional(
    Type.Integer({
      description:
        'With `output: [embeddings]`: maximum number of inputs of one request to the provider. A longer list is split. With `output: [rerank]`: maximum number of documents. Absent: from the catalog or the wire.',
      minimum: 1,
      maximum: 100_000,
    }),
  ),
  image: Type.Optional(image),
});

/** The wires of `src/providers/index.ts`, and `openai`, which selects one of two wires. A test compares the lists. */
export const wireNames = [
  'openai',
  'openai-responses',
  'openai-chat',
  'anthropic-messages',
  'gemini',
  'openai-images',
  'openai-embeddings',
  'cohere',
  'ollama',
  'bfl',
  'recraft',
  'fal',
  'ai-sdk',
  'simulator',
] as const;

export const providerSection = Type.Object({
  id: Type.String({
    description: 'Short name, unique: letters, digits, `-`, `_`, `.`.',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    says: 'must be letters, digits, `-`, `_` and `.`, a letter or digit first',
  }),
  name: Type.Optional(textField('Name shown in metadata. Absent: the id.')),
  wire: Type.Enum([...wireNames], {
    description:
      'Protocol of the provider. `openai`: `openai-responses` or `openai-chat`, whichever the server has. Absent: the built-in list has an entry of this id, which supplies all missing settings.',
  }),
  base_url: Type.Optional(
    Type.String({
      description:
        'URL of the provider with its version: `https://api.openai.com/v1`. Required except for the simulator.',
    }),
  ),
  api_key: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })], {
      description: 'The provider’s key, or a list of keys to rotate. Write `${NAME}`, not the key itself.',
      secret: true,
    }),
  ),
  key_names: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      description:
        'Names of the keys in `api_key`, in their order, for the history of requests. Absent: the variable that holds the key, otherwise `key 1`, `key 2`.',
    }),
  ),
  proxy: Type.Optional(
    Type.Union([Type.Literal(false), Type.String({ minLength: 1 })], {
      description:
        'URL of an HTTP proxy to the provider: `http://proxy.internal:3128`. False: none. Absent: as `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.',
      secret: true,
    }),
  ),
  headers: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_|~-]+$" }), Type.String(), {
      description: 'Fixed headers for every request to the provider.',
      secret: true,
    }),
  ),
  timeouts: Type.Optional(
    Type.Object({
      connect_ms: optionalMilliseconds('Overrides `timeouts.connect_ms`.'),
      first_byte_ms: optionalMilliseconds('Overrides `timeouts.first_byte_ms`.'),
      idle_ms: optionalMilliseconds('Overrides `timeouts.idle_ms`.'),
      total_ms: optionalMilliseconds('Overrides `timeouts.total_ms`.'),
    }),
  ),
  retry: Type.Optional(
    Type.Object({
      attempts: Type.Optional(Type.Integer({ description: 'Overrides `retry.attempts`.', minimum: 1, maximum: 10 })),
      backoff_ms: optionalMilliseconds('Overrides `retry.backoff_ms`.', 0),
      max_backoff_ms: optionalMilliseconds('Overrides `retry.max_backoff_ms`.', 0),
      max_retry_after_ms: optionalMilliseconds('Overrides `retry.max_retry_after_ms`.', 0),
      budget_ms: optionalMilliseconds('Overrides `retry.budget_ms`.', 0),
      share: Type.Optional(Type.Number({ description: 'Overrides `retry.share`.', minimum: 0, maximum: 1 })),
      minimum: Type.Optional(
        Type.Integer({ description: 'Overrides `retry.minimum`.', minimum: 0, maximum: 1_000_000 }),
      ),
    }),
  ),
  dialect: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Differences of this provider from the protocol. Each wire documents its settings.',
    }),
  ),
  package: Type.Optional(textField('With `wire: ai-sdk`: the npm package, which you install: `@ai-sdk/cohere`.')),
  factory: Type.Optional(
    textField(
      'With `wire: ai-sdk`: the function of the package that creates a provider. Absent: derived from its name: `createCohere`.',
    ),
  ),
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'With `wire: ai-sdk`: further arguments of that function, besides `api_key`, `base_url` and `headers`.',
      secret: true,
    }),
  ),
  same_as: Type.Optional(
    textField('Id of the built-in provider that this is another account of. It supplies all missing settings.'),
  ),
  workspace: Type.Optional(
    textField(
      'Name or id of the workspace that brings this key (BYOK). Only this workspace uses the provider, before the shared ones.',
    ),
  ),
  is_fallback: Type.Optional(
    Type.Boolean({ description: 'With `workspace`: use the provider after the shared ones.' }),
  ),
  weight: Type.Optional(
    Type.Number({
      description: 'Weight of its models without their own. Absent: 1.',
      minimum: 0,
      maximum: MAX_WEIGHT,
    }),
  ),
  urls: Type.Optional(
    Type.Enum([...urlSettings], {
      description:
        'URLs of images and files. `pass` sends the URL. `fetch` sends the content, for providers that accept no URLs. Absent: as in the built-in list, else `pass`.',
    }),
  ),
  data_policy: Type.Optional(
    Type.Object({
      retains: Type.Optional(
        Type.Boolean({ description: 'Whether it retains data. Absent: `provider.zdr` assumes true.' }),
      ),
      trains: Type.Optional(
        Type.Boolean({
          description: 'Whether it trains on data. Absent: `provider.data_collection: deny` assumes true.',
        }),
      ),
    }),
  ),
  list_models: Type.Optional(
    Type.Boolean({
      description:
        'Whether `GET /models` has the models behind a wildcard that the provider lists in its own `/models`. Absent: true.',
    }),
  ),
  models: Type.Array(model, { description: 'Endpoints of this provider.', minItems: 1 }),
});
