// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { type Static, Type } from 'typebox';
import { contentKinds } from '../domain/content-record.ts';
import { MAX_PHRASE_BYTES, MAX_PHRASES } from '../domain/content-filter.ts';
import { inputModalities, MAX_WEIGHT, outputModalities, parameterNames, quantizations } from '../domain/endpoint.ts';
import { imageBillables, imageUnits } from '../domain/images.ts';
import { MAX_RATE_LIMIT } from '../domain/rate-limits.ts';
import { routingStrategies } from '../domain/routing-strategy.ts';
import { bucketPattern } from './file-store.ts';
import { engineDefaults, type SearchDriverName } from './search-engines.ts';

/*
 * The configuration, with the names of the file. `describe.ts` generates docs/reference/configuration.md from this
 * schema. It has four keywords of its own. `unit: 'bytes'` allows `32MiB`. `restart: true` marks settings that a
 * reload does not change. `secret: true` keeps a value out of every message. `says` describes a pattern in words.
 */

const milliseconds = (description: string, value: number, minimum = 1, more: { restart?: true } = {}) =>
  Type.Integer({ description, default: value, minimum, maximum: 2_147_483_647, ...more });
const optionalMilliseconds = (description: string, minimum = 1) =>
  Type.Optional(Type.Integer({ description, minimum, maximum: 2_147_483_647 }));
const bytes = (description: string, value: number, more: { restart?: true } = {}) =>
  Type.Integer({ description, default: value, minimum: 1024, maximum: 1_073_741_824, unit: 'bytes', ...more });
const price = (description: string) =>
  Type.Optional(
    Type.Union(
      [Type.Number({ minimum: 0 }), Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?$', says: 'must be a decimal number' })],
      { description },
    ),
  );
const text = (description: string, value?: string) =>
  Type.String({ description, minLength: 1, ...(value !== undefined && { default: value }) });

const server = Type.Object({
  host: Type.String({
    description: 'Address to listen on. `0.0.0.0`: all addresses.',
    default: '127.0.0.1',
    minLength: 1,
    restart: true,
  }),
  port: Type.Integer({
    description: 'Port to listen on. 0: any free port.',
    default: 8787,
    minimum: 0,
    maximum: 65535,
    restart: true,
  }),
  public_url: Type.Optional(
    Type.String({
      description: 'URL that clients use if there is a proxy in front. Printed at start.',
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      says: 'must be an http or https URL without credentials, query and fragment',
    }),
  ),
  regional_hosts: Type.Array(Type.String({ pattern: '^[A-Za-z0-9.-]+(:[0-9]+)?$', says: 'must be a host name' }), {
    description:
      'Host names that serve no stored files, no files of containers and no interns: these routes are a 403 there. It does not bind requests to a region.',
    default: [],
  }),
  region: Type.String({ description: 'Region of this gateway.', default: 'local', minLength: 1 }),
  body_limit: bytes('Largest request body, in bytes or as `32MiB`. A larger one is a 413.', 33_554_432, {
    restart: true,
  }),
  body_memory: Type.Optional(
    Type.Integer({
      description:
        'Memory for the request bodies of all requests in flight, in each process. A body of more than 64 KiB counts until its response is complete. A body that does not fit is a 429. Absent: an eighth of the JavaScript heap (`--max-old-space-size`).',
      minimum: 65_536,
      unit: 'bytes',
    }),
  ),
  upstream_body_limit: bytes(
    'Largest response read from a provider, in bytes or as `32MiB`: the body of a whole response, or the texts, calls, images and annotations of a stream. The turns of a response with server tools count together.',
    33_554_432,
  ),
  cors_origins: Type.Array(
    Type.String({
      pattern: '^(\\*|https?://[^/?#@\\s]+)$',
      says: 'must be an origin like `https://app.example.com`, or `*`',
    }),
    {
      description: 'Origins whose pages may call the gateway. `*`: any. Empty: CORS is off.',
      default: [],
      restart: true,
    },
  ),
  keep_alive_comment_ms: milliseconds(
    'Idle time after which a stream gets a comment, so that proxies keep it open. 0: never.',
    10_000,
    0,
  ),
  shutdown_grace_ms: milliseconds('Time for open requests to end after SIGTERM.', 30_000, 0),
  workers: Type.Integer({
    description: 'Number of worker processes. 1: a single process without workers. 0: one worker per core.',
    default: 1,
    minimum: 0,
    maximum: 256,
    restart: true,
  }),
  metrics: Type.Enum(['loopback', 'management', 'public', 'off'], {
    description:
      'Access to `GET /metrics`. `management`: with a management key. `public`: without a key. `off`: none. `loopback`: without a key if the gateway listens on loopback, the `Host` header is a loopback address or `localhost`, and no header of a proxy is present; otherwise with a management key.',
    default: 'loopback',
  }),
});

const tokenPrices = {
  prompt: price('USD per input token.'),
  completion: price('USD per output token.'),
  cache_read: price('USD per input token read from the prompt cache. Absent: as `prompt`.'),
  cache_write: price('USD per input token written to the prompt cache. Absent: as `prompt`.'),
  cache_write_1h: price('The same, cached for one hour. Absent: as `cache_write`.'),
  reasoning: price('USD per reasoning token. Absent: as `completion`.'),
  audio: price('USD per audio input token. Absent: as `prompt`.'),
  audio_cache_read: price('USD per audio input token read from the prompt cache. Absent: as `cache_read`.'),
  audio_output: price('USD per audio output token. Absent: as `completion`.'),
  image_token: price('USD per image input token. Absent: as `prompt`.'),
  image_output: price('USD per image output token. Absent: as `completion`.'),
};

const pricing = Type.Object({
  ...tokenPrices,
  request: price('USD per request.'),
  image: price('USD per input image.'),
  web_search: price('USD per web search by the provider, or per search unit of `POST /rerank`.'),
  searched_request: price('USD per response with at least one web search.'),
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
  model: text('Slug at the gateway: `openai/gpt-5-mini`. May contain one `*`, which matches any suffix: `local/*`.'),
  upstream_model: Type.Optional(
    text(
      'Name at the provider. `*` is the suffix that the `*` of `model` matched, and the default of a wildcard. Absent: `model`.',
    ),
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
    text('Region or variant. `provider.order`, `only` and `ignore` name the endpoint as `<provider>/<tag>`.'),
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

const provider = Type.Object({
  id: Type.String({
    description: 'Short name, unique: letters, digits, `-`, `_`, `.`.',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    says: 'must be letters, digits, `-`, `_` and `.`, a letter or digit first',
  }),
  name: Type.Optional(text('Name shown in metadata. Absent: the id.')),
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
  package: Type.Optional(text('With `wire: ai-sdk`: the npm package, which you install: `@ai-sdk/cohere`.')),
  factory: Type.Optional(
    text(
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
    text('Id of the built-in provider that this is another account of. It supplies all missing settings.'),
  ),
  workspace: Type.Optional(
    text(
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
  models: Type.Array(model, { description: 'Endpoints of this provider.', minItems: 1 }),
});

const limitFields = {
  requests_per_minute: Type.Integer({
    description: 'Requests within 60 seconds. 0: no limit.',
    default: 0,
    minimum: 0,
  }),
  tokens_per_minute: Type.Integer({
    description:
      'Input and output tokens within 60 seconds. The limit rejects the request after the one that exceeded it. 0: no limit.',
    default: 0,
    minimum: 0,
  }),
  concurrent_streams: Type.Integer({
    description: 'Open streams at a time. 0: no limit.',
    default: 0,
    minimum: 0,
  }),
};

/** Rate limits of one key, member or workspace. */
const ownLimit = (description: string) =>
  Type.Optional(
    Type.Integer({
      description: `${description} 0: no limit. Absent: as set with the management API.`,
      minimum: 0,
      maximum: MAX_RATE_LIMIT,
    }),
  );
const ownLimitFields = {
  requests_per_minute: ownLimit('Requests within 60 seconds.'),
  tokens_per_minute: ownLimit('Input and output tokens within 60 seconds.'),
  concurrent_streams: ownLimit('Open streams at a time.'),
};

const bootstrapKey = Type.Object({
  key: Type.String({
    description: 'The key itself, 8 or more characters. Write `${NAME}`.',
    minLength: 8,
    pattern: '^[!-~]+$',
    says: 'must be printable ASCII without spaces',
    secret: true,
  }),
  name: text('Display name.'),
  workspace: Type.Optional(text('Name or id of its workspace. Required except for management keys.')),
  member: Type.Optional(text('Id of the member who owns it.')),
  acts_as: Type.Optional(
    Type.Literal('organization', { description: 'Instead of `member`: acts as the organization.' }),
  ),
  kind: Type.Optional(
    Type.Enum(['inference', 'management'], {
      description: 'A management key administers the gateway and cannot call models. Absent: `inference`.',
    }),
  ),
  disabled: Type.Optional(Type.Boolean({ description: 'Whether the key is rejected.' })),
  credit_usd: Type.Optional(
    Type.Number({
      description: 'USD that it may spend in total. Absent: as set with the management API.',
      minimum: 0,
      maximum: 9_000_000,
    }),
  ),
  ...ownLimitFields,
});

const bootstrap = Type.Object({
  workspaces: Type.Array(
    Type.Object({
      id: Type.Optional(text('Stable id, preferably a UUID. Absent: created at the first start.')),
      name: text('Unique name.'),
      default_plugins: Type.Optional(
        Type.Array(Type.Record(Type.String(), Type.Unknown()), {
          description:
            'Plugins for all its requests, as in a request, and `prevent_overrides: true` for final ones. Absent: as set with the management API.',
        }),
      ),
      ...ownLimitFields,
    }),
    { description: 'Workspaces to create or update.', default: [] },
  ),
  members: Type.Array(
    Type.Object({
      id: text('Unique id of the member.'),
      workspaces: Type.Array(Type.String({ minLength: 1 }), { description: 'Names or ids.', default: [] }),
      ...ownLimitFields,
    }),
    { description: 'Members to create or update. Each is in exactly these workspaces.', default: [] },
  ),
  keys: Type.Array(bootstrapKey, { description: 'Keys to create or update.', default: [] }),
  guardrails: Type.Array(
    Type.Object({
      name: text('Name, unique in its workspace.'),
      workspace: text('Name or id of its workspace.'),
      default: Type.Boolean({
        description: 'Whether it is the default guardrail of its workspace, which applies to all its keys.',
        default: false,
      }),
      keys: Type.Optional(
        Type.Array(Type.String({ minLength: 1 }), {
          description: 'Names of keys in `bootstrap.keys`: exactly these have it. Absent: as assigned otherwise.',
        }),
      ),
      members: Type.Optional(
        Type.Array(Type.String({ minLength: 1 }), {
          description: 'Ids of members: exactly these have it. Absent: as assigned otherwise.',
        }),
      ),
      rules: Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Its rules, with the names of the [management API](management.md#guardrails): `allowed_models`, `content_filters`, … It has no others.',
      }),
    }),
    { description: 'Guardrails to create or update.', default: [] },
  ),
});

const patterns = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { description, maxItems: 1024 }));

const fusionPanel = (description: string) =>
  Type.Optional(
    Type.Object({
      models: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { description, minItems: 1, maxItems: 8 }),
      model: Type.Optional(
        text('The model that compares the responses, and writes the response of a router slug. Absent: the first one.'),
      ),
    }),
  );

const routers = Type.Object({
  latest: Type.Array(
    Type.Object({
      alias: Type.String({
        description: '`~author/family-latest`.',
        pattern: '^~[^/\\s]+/\\S+$',
        says: 'must be `~author/family-latest`',
      }),
      pattern: text('Models of the family: `acme/one-*`.'),
      exclude: patterns('Patterns to exclude from it.'),
    }),
    { description: 'Aliases of the newest model of a family, in addition to the built-in ones.', default: [] },
  ),
  auto: Type.Object({
    rankings: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1 })), {
        description:
          'Models by task (`code:debugging`, `translation`, …; `default` for the others), best first. Used if the ledger has no ranking.',
      }),
    ),
    allowed_models: patterns('Patterns of models that may be chosen. Used if the request has none.'),
    excluded_models: patterns('Patterns of models that must not be chosen.'),
    cost_tier: Type.Optional(
      Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'], {
        description: 'Cost band. Used if the request has none.',
      }),
    ),
    cost_quality_tradeoff: Type.Optional(
      Type.Integer({ description: '0 (best) to 10 (cheapest). `cost_tier` wins.', minimum: 0, maximum: 10 }),
    ),
    prevent_overrides: Type.Boolean({
      description: 'Whether these settings win over those of a request.',
      default: false,
    }),
    classifier: Type.Optional(
      Type.Object({
        model: text('A small, fast model that finds the task of a conversation. Absent: its words determine the task.'),
        timeout_ms: milliseconds('Timeout of the classifier. After it, the words determine the task.', 2000),
      }),
    ),
  }),
  pareto_code: Type.Object({
    models: Type.Optional(
      Type.Array(
        Type.Object({
          slug: text('A coding model.'),
          coding_score: Type.Number({ description: 'Percentile among coding models.', minimum: 0, maximum: 100 }),
        }),
        { description: 'Coding models and their scores. Absent: those of the catalog.' },
      ),
    ),
    min_coding_score: Type.Optional(
      Type.Number({ description: '0 to 1. Used if the request has none.', minimum: 0, maximum: 1 }),
    ),
    max_price: Type.Optional(
      Type.Number({ description: 'USD per million input tokens. Used if the request has none.', minimum: 0 }),
    ),
    price_source: Type.Optional(
      Type.Enum(['prompt', 'weighted_avg'], {
        description: '`prompt`: list price. `weighted_avg`: average price that this gateway has paid.',
      }),
    ),
  }),
  bodybuilder: Type.Object({
    model: Type.Optional(
      text('Model that writes request bodies. Absent: the cheapest one that supports JSON schemas.'),
    ),
  }),
  fusion: Type.Object({
    panels: Type.Object({
      quality: fusionPanel('The panel of requests that name no preset.'),
      general_high: fusionPanel('The panel of the preset `general-high`.'),
      general_budget: fusionPanel('The panel of the preset `general-budget`.'),
      general_fast: fusionPanel('The panel of the preset `general-fast` and of `router/fusion-flash`.'),
    }),
    model_timeout_ms: milliseconds(
      'Time limit of each model of a panel, and of the analysis. A model that exceeds it counts as failed.',
      180_000,
    ),
  }),
});

const limits = Type.Object({
  ...limitFields,
  member: Type.Object(limitFields),
  workspace: Type.Object(limitFields),
  models: Type.Array(
    Type.Object({
      model: text('Slug, with at most one `*`. The first match applies.'),
      ...limitFields,
    }),
    {
      description:
        'Limits of a model over all callers. They apply whether the request names the model, lists it in `models`, or a router chooses it.',
      default: [],
    },
  ),
});

const hosts = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { description, default: [], maxItems: 1024 });

const outbound = Type.Object({
  fetch: Type.Boolean({
    description:
      'Whether URLs in messages are fetched: for providers with `urls: fetch`, and files whose text a model gets. If not, such requests are a 400.',
    default: true,
  }),
  allow: hosts(
    'Private networks, addresses and host names that may be fetched from: `10.0.0.0/8`, `docs.example.internal`, `*.corp.example:8081`, `127.0.0.1:9000`. Public ones need no entry.',
  ),
  deny: hosts('Networks, addresses and host names that must not be fetched from. Wins over `allow`.'),
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65535 }), {
    description: 'Ports that are allowed on every host. An entry of `allow` may add a port for its host.',
    default: [80, 443, 8080, 8443],
    minItems: 1,
    maxItems: 64,
  }),
  max_bytes: bytes('Maximum size of one fetched file.', 20_971_520),
  request_bytes: bytes('Maximum size of all fetched files of one request.', 33_554_432),
  request_urls: Type.Integer({
    description: 'Maximum number of URLs in one request.',
    default: 16,
    minimum: 1,
    maximum: 256,
  }),
  timeout_ms: milliseconds('Timeout of one fetch, including redirects and the wait in the queue.', 20_000),
  idle_ms: milliseconds(
    'Idle timeout of the connection, of the start of the response, and within the response.',
    10_000,
  ),
  parallel: Type.Integer({
    description: 'Number of concurrent fetches. Others wait.',
    default: 8,
    minimum: 1,
    maximum: 256,
  }),
});

const guardrails = Type.Object({
  analyzer_url: Type.Optional(
    Type.String({
      description:
        'Presidio analyzer that finds names and addresses for the filters `person-name` and `address`: `http://127.0.0.1:5002`. Absent: such filters are rejected.',
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      says: 'must be an http or https URL without credentials, query and fragment',
    }),
  ),
  analyzer_language: Type.String({
    description: 'Language code that the analyzer gets with each text.',
    default: 'en',
    pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
    says: 'must be a language code, such as `en`',
  }),
  analyzer_min_score: Type.Number({
    description: 'Confidence, 0 to 1, from which a finding of the analyzer counts.',
    default: 0.5,
    minimum: 0,
    maximum: 1,
  }),
  analyzer_timeout_ms: milliseconds('Timeout of the analyzer for all texts of a request together.', 2000),
  analyzer_on_failure: Type.Enum(['allow', 'reject'], {
    description:
      'What happens to a request whose texts the analyzer has not analyzed. `allow`: it goes on, and `router_metadata` says so. `reject`: it is a 503.',
    default: 'allow',
  }),
  injection_allowlist: Type.Array(Type.String({ minLength: 1, maxLength: MAX_PHRASE_BYTES }), {
    description:
      'Phrases that hide from the patterns of `regex-prompt-injection`, in upper or lower case. At most 1,000 bytes each.',
    default: [],
    maxItems: MAX_PHRASES,
  }),
});

const searchEngine = Type.Object({
  driver: Type.Enum(
    ['searxng', 'brave', 'exa', 'tavily', 'serper', 'perplexity', 'firecrawl', 'parallel'] satisfies SearchDriverName[],
    { description: 'Protocol of the service. Any name of an engine may have any driver.' },
  ),
  base_url: Type.Optional(
    Type.String({
      description: 'Base URL of the service, with its version. Required for `searxng`. Absent: its public address.',
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      says: 'must be an http or https URL without credentials, query and fragment',
    }),
  ),
  api_key: Type.Optional(
    Type.String({
      description:
        'Key of the service. Absent: `BRAVE_API_KEY`, `EXA_API_KEY`, `TAVILY_API_KEY`, `SERPER_API_KEY`, `PERPLEXITY_API_KEY`, `FIRECRAWL_API_KEY` or `PARALLEL_API_KEY` of the environment, by driver. `searxng` needs none.',
      minLength: 1,
      pattern: '^[!-~]+$',
      says: 'must consist of visible ASCII characters',
      secret: true,
    }),
  ),
  price_per_search: Type.Number({
    description: 'USD that a caller pays per search.',
    default: engineDefaults.price_per_search,
    minimum: 0,
    maximum: 1000,
  }),
  timeout_ms: milliseconds('Timeout of one search.', engineDefaults.timeout_ms),
});

const sandboxSize = (description: string, value: number, minimum: number) =>
  Type.Integer({ description, default: value, minimum, maximum: 1_099_511_627_776, unit: 'bytes' });
const sandboxCount = (description: string, value: number, minimum: number, maximum: number) =>
  Type.Integer({ description, default: value, minimum, maximum });

const sandboxImage = Type.String({
  description: 'Image of sandboxes. It has bash, coreutils, util-linux, GNU findutils and GNU tar.',
  default: 'python:3.13-slim',
  minLength: 1,
  restart: true,
});

/** Limits apply to sandboxes that start afterwards. */
const sandbox = Type.Object({
  driver: Type.Enum(['auto', 'bubblewrap', 'docker', 'kubernetes', 'simulation', 'off'], {
    description:
      'What runs the commands of models. `auto`: `bubblewrap` if it works on this host, otherwise none. `simulation`: a shell without a real system, for demonstrations. `off`: none.',
    default: 'auto',
    restart: true,
  }),
  memory: sandboxSize('Memory of all processes of a sandbox together.', 536_870_912, 33_554_432),
  cpus: Type.Number({
    description:
      'CPU cores of a sandbox, such as `0.5`. With `bubblewrap`, it needs cgroup v2; without, its processes only have a lower priority.',
    default: 1,
    minimum: 0.05,
    maximum: 256,
  }),
  processes: sandboxCount('Maximum number of processes and threads of a sandbox.', 256, 8, 32_768),
  disk: sandboxSize('Size of the home folder of a sandbox.', 1_073_741_824, 1_048_576),
  files: sandboxCount('Maximum number of files, folders and links in the home folder.', 200_000, 100, 10_000_000),
  temporary: sandboxSize('Size of `/tmp`, which exists while the sandbox runs.', 67_108_864, 1_048_576),
  max_running: sandboxCount(
    'Maximum number of running sandboxes of a member. Callers without a member count per workspace.',
    10,
    1,
    10_000,
  ),
  max_running_total: sandboxCount('Maximum number of running sandboxes of a gateway process.', 50, 1, 10_000),
  idle_seconds: sandboxCount('A sandbox that runs no command for this long stops. Its files are kept.', 300, 1, 86_400),
  retention_days: sandboxCount(
    'Days after the last use after which the files of a container are deleted.',
    30,
    1,
    3650,
  ),
  price_per_second: Type.Number({
    description: 'USD that a caller pays per second of a running command.',
    default: 0,
    minimum: 0,
    maximum: 1000,
  }),
  min_seconds: sandboxCount('Fewest seconds of a tool call that are charged.', 30, 0, 3600),
  docker: Type.Object({
    socket: Type.Optional(
      Type.String({
        description:
          'Unix socket of Docker or Podman. By default that of `DOCKER_HOST`, otherwise `/var/run/docker.sock`.',
        minLength: 1,
        restart: true,
      }),
    ),
    image: sandboxImage,
    runtime: Type.Optional(
      Type.String({
        description: 'OCI runtime that the service knows, such as `runsc` for gVisor. By default that of the service.',
        minLength: 1,
        restart: true,
      }),
    ),
  }),
  kubernetes: Type.Object({
    kubeconfig: Type.Optional(
      Type.String({
        description:
          'Path of a kubeconfig file. By default the cluster in which the gateway runs, otherwise `KUBECONFIG` or `~/.kube/config`.',
        minLength: 1,
        restart: true,
      }),
    ),
    context: Type.Optional(
      Type.String({
        description: 'Context of the kubeconfig file. By default its current one.',
        minLength: 1,
        restart: true,
      }),
    ),
    namespace: Type.Optional(
      Type.String({
        description: 'Namespace of the pods. By default that of the context, or of the pod of the gateway.',
        minLength: 1,
        restart: true,
      }),
    ),
    image: sandboxImage,
    runtime_class: Type.Optional(
      Type.String({ description: 'RuntimeClass of the pods, such as `gvisor`.', minLength: 1, restart: true }),
    ),
    home_medium: Type.Enum(['disk', 'memory'], {
      description:
        'Where the home folder is. `disk`: the kubelet enforces its size after a while. `memory`: the system enforces it at once, and it counts as memory.',
      default: 'disk',
      restart: true,
    }),
  }),
});

const tools = Type.Object({
  modules: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Modules that export server tools of your own, as paths.',
    default: [],
    maxItems: 100,
    restart: true,
  }),
  image_generation: Type.Object({
    model: Type.String({
      description:
        'Image model of the tool `router:image_generation` in requests that name none, if their workspace has no `default_image_model`.',
      default: 'openai/gpt-5-image',
      minLength: 1,
    }),
  }),
  web_search: Type.Object({
    engines: Type.Object({
      exa: Type.Optional(searchEngine),
      firecrawl: Type.Optional(searchEngine),
      parallel: Type.Optional(searchEngine),
      perplexity: Type.Optional(searchEngine),
    }),
  }),
  sandbox,
});

const masterKeyFile = (what: string) =>
  Type.Optional(
    Type.String({
      description: `File with the ${what}, such as a mounted secret. White space at its ends does not count.`,
      minLength: 1,
      restart: true,
    }),
  );
const masterKeyCommand = (what: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: `Program and arguments that print the ${what}, such as the client of a key management service. It runs once per start of a process, without a shell, for at most 10 s.`,
      minItems: 1,
      restart: true,
    }),
  );

const interns = Type.Object({
  enabled: Type.Boolean({
    description: 'Whether the gateway has interns and vaults. If not, their routes are a 404, and none runs.',
    default: true,
  }),
  domain: Type.String({
    description:
      'Domain of the host names of interns: `<name>-<first 8 digits of the id>.<domain>`. It applies to interns that get their host name afterwards.',
    default: 'interns.localhost',
    pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$',
    says: 'must be a domain in lower case',
    maxLength: 200,
  }),
  runtime: text('The agent of interns: `builtin`, or a name in `runtimes`. It applies at their next start.', 'builtin'),
  runtimes: Type.Record(
    Type.String({ pattern: '^[a-z][a-z0-9_-]{0,63}$' }),
    Type.Object({
      command: Type.Array(Type.String({ minLength: 1 }), {
        description: 'The program in the sandbox and its arguments.',
        minItems: 1,
      }),
      files: Type.Array(Type.String({ minLength: 1 }), {
        description:
          'Files of the host that the agent needs. They are copied to `/tmp/headgate/files` before it starts.',
        default: [],
        maxItems: 100,
      }),
    }),
    { description: 'Agents of the operator, by name.', default: {} },
  ),
  allowed_domains: Type.Array(Type.String({ minLength: 1 }), {
    description:
      'Hosts that every intern can reach at the ports 80 and 443, besides those of its secrets: names and globs. `*`: every public host.',
    default: [],
    maxItems: 1000,
  }),
  max_per_member: Type.Integer({
    description: 'Maximum number of interns of a member.',
    default: 200,
    minimum: 1,
    maximum: 1_000_000,
  }),
  max_running: Type.Integer({
    description: 'Maximum number of interns that run in a gateway process. Others stay `queued` until one stops.',
    default: 50,
    minimum: 1,
    maximum: 10_000,
  }),
  provision_ms: milliseconds('Timeout of the provisioning of an intern.', 120_000, 100),
  health_ms: milliseconds('Time between two health checks of a running intern.', 15_000, 50),
});

const budgetFields = (whose: string) => {
  const usd = (window: string) =>
    Type.Optional(
      Type.Number({ description: `USD that ${whose} may spend ${window}.`, exclusiveMinimum: 0, maximum: 9_000_000 }),
    );
  return Type.Object({
    daily: usd('per day (UTC)'),
    weekly: usd('per week, from Monday'),
    monthly: usd('per month'),
    lifetime: usd('in total'),
    include_byok: Type.Boolean({ description: 'Whether BYOK calls count.', default: false }),
  });
};

const budgets = Type.Object({
  organization: budgetFields('all workspaces together'),
  member: budgetFields('each member, in all workspaces,'),
});

/** From most to least verbose. */
const logFormats = ['auto', 'pretty', 'json'] as const;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const count = (description: string, value: number, maximum: number) =>
  Type.Integer({ description, default: value, minimum: 1, maximum });

const fileParser = Type.Object({
  ocr: Type.Optional(
    Type.Object({
      url: Type.String({
        description: 'Address of the service, which has the OCR API of Mistral: `https://api.mistral.ai/v1/ocr`.',
        pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
        says: 'must be an http or https URL without credentials, query and fragment',
      }),
      api_key: Type.Optional(
        Type.String({
          description: 'Sent as a bearer token. Absent: none is sent.',
          minLength: 1,
          pattern: '^[!-~]+$',
          says: 'must consist of visible ASCII characters',
          secret: true,
        }),
      ),
      model: text('Model that the service uses: `mistral-ocr-latest`.'),
      price_per_page: Type.Number({
        description: 'USD that a caller pays per page.',
        default: 0,
        minimum: 0,
        maximum: 1000,
      }),
      timeout_ms: milliseconds('Timeout of one file.', 120_000),
    }),
  ),
  max_files: count('Maximum number of files in one request that the gateway reads.', 32, 1000),
  max_bytes: bytes('Maximum size of one file.', 33_554_432),
  max_pages: count('Maximum number of pages of a PDF.', 1000, 100_000),
  max_characters: count('Maximum characters of text of all files of one request.', 4_000_000, 100_000_000),
  max_unpacked_bytes: bytes('Maximum size of the parts of an Office file together.', 134_217_728),
  timeout_ms: milliseconds('Time limit of reading one file, without the wait in the queue.', 30_000),
  memory: bytes('Memory of one thread that reads files: of its heap, and of its buffers.', 268_435_456),
  parallel: count('Number of files that one process reads at the same time, each in its own thread.', 2, 64),
  queue: count('Number of files that wait. More are a 503.', 64, 10_000),
});

const toolNames = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { description, maxItems: 1000 }));

const mcpServer = Type.Object({
  url: Type.Optional(
    Type.String({
      description:
        'URL of a server that speaks streamable HTTP: `https://mcp.example.com/mcp`. Exclusive with `command`.',
      pattern: '^https?://[^/?#@\\s]+(/[^#\\s]*)?$',
      says: 'must be an http or https URL without credentials and fragment',
    }),
  ),
  headers: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_|~-]+$" }), Type.String(), {
      description: 'With `url`: headers of every request to the server, for example a key.',
      secret: true,
    }),
  ),
  command: Type.Optional(
    text(
      'Program of a server that speaks over its standard input and output. Each gateway process starts it at its first use.',
    ),
  ),
  args: Type.Optional(Type.Array(Type.String(), { description: 'With `command`: its arguments.', maxItems: 1000 })),
  env: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String(), {
      description: 'With `command`: its environment. It gets no other variable of the gateway than `PATH`.',
      secret: true,
    }),
  ),
  cwd: Type.Optional(text('With `command`: its working directory. Absent: that of the gateway.')),
  workspaces: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Names or ids of the workspaces that may use the server. Absent: all.',
      maxItems: 1000,
    }),
  ),
  allowed_tools: toolNames('Names of the tools that models may use. Absent: all. A request may choose fewer.'),
  require_approval: Type.Enum(['always', 'never'], {
    description: 'Whether the caller approves each call. `require_approval` of a request replaces it.',
    default: 'always',
  }),
  description: Type.Optional(text('What the server does, for the model.')),
  timeout_ms: optionalMilliseconds('Overrides `mcp.timeout_ms`.'),
});

const mcp = Type.Object({
  servers: Type.Record(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }), mcpServer, {
    description: 'MCP servers of the operator, by the `server_label` of requests.',
    default: {},
  }),
  caller_servers: Type.Boolean({
    description: 'Whether requests may name the URL of an MCP server. The rules of `outbound` apply to it.',
    default: true,
  }),
  max_servers: count('Maximum number of MCP servers of one request.', 8, 100),
  max_tools: count('Maximum number of MCP tools that the model sees in one request.', 128, 1000),
  max_bytes: bytes('Maximum size of one response of an MCP server.', 4_194_304),
  timeout_ms: milliseconds('Timeout of one call.', 60_000),
  connect_ms: milliseconds('Timeout of the handshake with a server, and of a listing.', 10_000),
  idle_ms: milliseconds('A session that is not used for this long is closed, and its process is stopped.', 300_000),
  max_sessions: count(
    'Maximum number of sessions in each gateway process. The one that is idle longest is closed first.',
    100,
    10_000,
  ),
  parallel: count('Maximum number of listings and calls at the same time, in each gateway process.', 64, 1000),
});

const plugins = Type.Object({
  modules: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Paths of JavaScript modules with plugins of your own, in the order in which they act.',
    default: [],
    maxItems: 100,
    restart: true,
  }),
  file_parser: fileParser,
  moderation: Type.Object({
    url: Type.Optional(
      Type.String({
        description:
          'Address of a moderation service with the API of `/moderations`: `https://api.openai.com/v1/moderations`. Absent: `model` is a model of this gateway that judges inputs.',
        pattern: '^https?://[^/?#@\\s]+(/[^#\\s]*)?$',
        says: 'must be an http or https URL without credentials and fragment',
      }),
    ),
    api_key: Type.Optional(Type.String({ description: 'Key of the service.', minLength: 1, secret: true })),
    model: Type.Optional(
      text('Model of the service: `omni-moderation-latest`. Without `url`: slug of a model of this gateway.'),
    ),
    timeout_ms: milliseconds('Timeout of the moderation of one input. After it, the moderation has failed.', 5000),
    images: Type.Boolean({
      description: 'Whether the service gets the images of an input, too. Each is a request of its own.',
      default: false,
    }),
    required: Type.Boolean({
      description:
        'Whether a request whose input should be moderated and cannot be is rejected. Otherwise it is sent, and its metadata says so.',
      default: false,
    }),
  }),
});

/** The whole file, after `load.ts` has merged and interpolated it. */
export const configSchema = Type.Object({
  server,
  storage: Type.Object({
    url: Type.String({
      description:
        'URL of the store: `file:…` (SQLite, relative to the working directory) or `postgres://…`. `<data>` is the data folder.',
      default: 'file:<data>/headgate.db',
      pattern: '^(file:.|postgres(ql)?://.)',
      says: 'must be `file:` and a path, or a `postgres://` URL',
      secret: true,
      restart: true,
    }),
    grace_ms: milliseconds(
      'How long the gateway serves requests with the keys and limits in memory while the store is unavailable. After that, requests are a 503.',
      600_000,
      0,
    ),
  }),
  ledger: Type.Object({
    durability: Type.Enum(['standard', 'strict'], {
      description:
        'When a response may end. `standard`: after its ledger entry is written, which survives `kill -9`; a power failure may lose the last 100 ms. `strict`: after the entry is synced to the disk of the data folder. That takes the time of an `fdatasync`, which many responses share.',
      default: 'standard',
    }),
  }),
  counters: Type.Object({
    url: Type.String({
      description:
        'Store of the limit and budget counters that several hosts share: `redis://…` or `valkey://…` (`rediss:`, `valkeys:` with TLS). Empty: the PostgreSQL of `storage.url`, else the memory of the process. `memory`: always the memory of the process.',
      default: '',
      pattern: '^(|memory|(redis|valkey)s?://.+)$',
      says: 'must be a `redis://` or `valkey://` URL, `memory`, or empty',
      restart: true,
      secret: true,
    }),
    timeout_ms: milliseconds(
      'Timeout of the counters. After a timeout, requests do not wait for them until they respond again.',
      250,
    ),
    on_failure: Type.Enum(['open', 'closed'], {
      description:
        'Behavior while the counters are unavailable. `open`: each process counts for itself: rates without a time limit, budgets for `grace_ms`. `closed`: requests with limits are a 503.',
      default: 'open',
    }),
    grace_ms: milliseconds(
      'How long each process then counts budgets for itself. After that, requests with budgets are a 503.',
      600_000,
      0,
    ),
  }),
  secrets: Type.Object({
    master_key: Type.Optional(
      Type.String({
        description:
          'Key that encrypts vaults, and of the hashes of end-user ids and signatures of transcripts. Give all hosts the same one. Without this key and the two below, one is created at the first start and kept in the data folder (mode 0600).',
        minLength: 1,
        restart: true,
        secret: true,
      }),
    ),
    master_key_file: masterKeyFile('master key'),
    master_key_command: masterKeyCommand('master key'),
    previous_master_key: Type.Optional(
      Type.String({
        description: 'The master key before, until `headgate vault rotate --master-key` has ended.',
        minLength: 1,
        restart: true,
        secret: true,
      }),
    ),
    previous_master_key_file: masterKeyFile('previous master key'),
    previous_master_key_command: masterKeyCommand('previous master key'),
  }),
  log: Type.Object({
    level: Type.Enum([...logLevels], { description: 'Least severe level that is logged.', default: 'info' }),
    format: Type.Enum([...logFormats], {
      description:
        '`json`: a JSON object per line. `pretty`: text for people. `auto`: `pretty` on a terminal, else `json`.',
      default: 'auto',
      restart: true,
    }),
    requests: Type.Optional(
      Type.Boolean({
        description:
          'Whether each request is a line at `info`. If not, it is a line at `debug`. Absent: yes if the format is `pretty`.',
      }),
    ),
  }),
  telemetry: Type.Object({
    otlp_endpoint: Type.Optional(
      Type.String({
        description:
          'URL that receives traces as OTLP over HTTP in JSON: `http://localhost:4318`. `/v1/traces` is appended if missing. It needs packages that you install; the start names missing ones. Absent: no traces.',
        pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
        says: 'must be an http or https URL without credentials, query and fragment',
        restart: true,
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_|~-]+$" }), Type.String(), {
        description: 'Headers for every request to that URL, for example a key.',
        secret: true,
        restart: true,
      }),
    ),
    sampling: Type.Number({
      description: 'Share of requests that are traced. A session is traced completely or not at all.',
      default: 1,
      minimum: 0,
      maximum: 1,
      restart: true,
    }),
    service_name: Type.String({
      description: 'Name of this gateway in traces.',
      default: 'headgate',
      minLength: 1,
      restart: true,
    }),
  }),
  io_logging: Type.Object({
    max_bytes: Type.Integer({
      description:
        'Maximum stored content of one generation, in bytes or as `256KiB`. Longer content is truncated and marked.',
      default: 262_144,
      minimum: 4096,
      maximum: 16_777_216,
      unit: 'bytes',
    }),
    max_pending_bytes: bytes(
      'Maximum content that waits for the store, in bytes or as `32MiB`. Content beyond it is dropped and counted. Requests are not affected.',
      33_554_432,
    ),
    retention_days: Type.Integer({
      description: 'Days after which contents are deleted.',
      default: 30,
      minimum: 1,
      maximum: 36_500,
    }),
    keep: Type.Array(Type.Enum([...contentKinds]), {
      description:
        'Kinds of content that are stored as text. All others are stored as kind and size. `reasoning_text` may be added. Images, files and encrypted reasoning are never stored.',
      default: contentKinds.filter((kind) => kind !== 'reasoning_text'),
    }),
  }),
  files: Type.Object({
    url: Type.String({
      description:
        'Where the contents of files are: `file:` and a folder, relative to the working directory, or `s3://BUCKET/PREFIX` for a bucket of S3 or of a server with its API. `<data>` is the data folder. If several hosts share a PostgreSQL, name a bucket, or a folder that all of them share.',
      default: 'file:<data>/files',
      pattern: `^(file:.+|${bucketPattern})$`,
      says: 'must be `file:` and a path, or `s3://` and a bucket, with an optional prefix of letters, digits, `.`, `_`, `-` and `/`',
      restart: true,
    }),
    s3: Type.Object({
      endpoint: Type.Optional(
        Type.String({
          description:
            'URL of the S3 server. Absent: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, else that of AWS for the region.',
          pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
          says: 'must be an http or https URL without credentials, query and fragment',
          restart: true,
        }),
      ),
      region: Type.Optional(
        Type.String({
          description:
            'Region for signatures. Absent: `AWS_REGION`, `AWS_DEFAULT_REGION`, else `us-east-1` if there is an endpoint.',
          pattern: '^[A-Za-z0-9-]+$',
          says: 'must be the name of a region, such as `eu-central-1`',
          restart: true,
        }),
      ),
      access_key_id: Type.Optional(
        Type.String({ description: 'Key of the bucket. Absent: `AWS_ACCESS_KEY_ID`.', minLength: 1, restart: true }),
      ),
      secret_access_key: Type.Optional(
        Type.String({
          description: 'Its secret. Absent: `AWS_SECRET_ACCESS_KEY`.',
          minLength: 1,
          secret: true,
          restart: true,
        }),
      ),
      session_token: Type.Optional(
        Type.String({
          description: 'Token of temporary credentials. Absent: `AWS_SESSION_TOKEN`, if the key comes from there, too.',
          minLength: 1,
          secret: true,
          restart: true,
        }),
      ),
      path_style: Type.Optional(
        Type.Boolean({
          description:
            'Whether the bucket is in the path of URLs, not in the host name. Absent: true if there is an endpoint.',
          restart: true,
        }),
      ),
    }),
    max_bytes: bytes('Largest file, in bytes or as `100MiB`. A larger one is a 413.', 104_857_600),
    workspace_bytes: Type.Integer({
      description:
        'Maximum size of all files of a workspace together, in bytes or as `10GiB`. A file beyond it is a 403.',
      default: 10_737_418_240,
      minimum: 1024,
      unit: 'bytes',
    }),
    workspace_files: Type.Integer({
      description: 'Maximum number of files of a workspace. A file beyond it is a 403.',
      default: 10_000,
      minimum: 1,
      maximum: 1_000_000,
    }),
    request_bytes: bytes(
      'Maximum size of the stored files that a request names, together, in bytes or as `32MiB`. More is a 413.',
      33_554_432,
    ),
    search: Type.Object({
      file_characters: count(
        'Maximum characters of one file that `file_search` finds. The rest is left out.',
        2_000_000,
        100_000_000,
      ),
      workspace_passages: count(
        'Maximum passages (of about 1,200 characters) of all files of a workspace that `file_search` finds.',
        100_000,
        100_000_000,
      ),
    }),
    parallel_uploads: Type.Integer({
      description: 'Maximum uploads that a process receives at once. One more is a 429.',
      default: 16,
      minimum: 1,
      maximum: 1000,
    }),
  }),
  timeouts: Type.Object({
    request_ms: milliseconds('Deadline of a request. After it, 408.', 600_000),
    receive_ms: milliseconds('Time for a client to send its complete request. After it, 408.', 120_000, 1, {
      restart: true,
    }),
    connect_ms: milliseconds('Time to connect to a provider.', 5_000),
    first_byte_ms: milliseconds('Time until a provider’s response begins.', 120_000),
    idle_ms: milliseconds('Idle time within a provider’s response.', 60_000),
    total_ms: milliseconds('Time until a provider’s response is complete.', 600_000),
  }),
  retry: Type.Object({
    attempts: Type.Integer({
      description: 'Maximum attempts at one endpoint per request, including the first. 1: no retries.',
      default: 3,
      minimum: 1,
      maximum: 10,
    }),
    backoff_ms: milliseconds(
      'Maximum of the random delay before the first retry. Doubles with each further retry.',
      250,
      0,
    ),
    max_backoff_ms: milliseconds('Upper bound of that maximum.', 4_000, 0),
    max_retry_after_ms: milliseconds('A provider with a longer `Retry-After` is not retried.', 5_000, 0),
    budget_ms: milliseconds('No retry starts later than this after the first attempt of the request.', 10_000, 0),
    share: Type.Number({
      description: 'Maximum retries of a provider within 60 seconds, as a share of its requests.',
      default: 0.1,
      minimum: 0,
      maximum: 1,
    }),
    minimum: Type.Integer({
      description: 'Number of retries of a provider within 60 seconds that are always allowed.',
      default: 10,
      minimum: 0,
      maximum: 1_000_000,
    }),
  }),
  providers: Type.Array(provider, {
    description: 'Providers and their models. Empty: only the simulator, as `simulator/*`.',
    default: [],
  }),
  embeddings: Type.Object({
    max_inputs: Type.Integer({
      description: 'Maximum number of inputs of one request, or of documents of `POST /rerank`. More are a 400.',
      default: 2048,
      minimum: 1,
      maximum: 100_000,
    }),
    parallel_calls: Type.Integer({
      description:
        'Requests to a provider at the same time for one request whose inputs exceed the limit of the provider.',
      default: 4,
      minimum: 1,
      maximum: 64,
    }),
    answer_limit: bytes(
      'Largest total of the responses of a provider to one request, in bytes or as `64MiB`.',
      268_435_456,
    ),
    memory: bytes(
      'Memory for the responses of providers of all embeddings in progress, in each process. Further requests wait.',
      536_870_912,
    ),
  }),
  images: Type.Object({
    request_ms: milliseconds('Deadline of `POST /images`. After it, 524.', 300_000),
    stream_ms: milliseconds('The same with `stream: true`.', 600_000),
    body_limit: bytes(
      'Largest body of `POST /images`, including references. Referenced URLs may add the same amount in total.',
      67_108_864,
      { restart: true },
    ),
    answer_limit: bytes('Largest response of an image provider, or single event of its stream.', 134_217_728),
    memory: bytes(
      'Memory for such responses in total. If it is full, further responses are read later. A larger response is read alone.',
      67_108_864,
    ),
    reference_limit: bytes('Largest reference image.', 20_971_520),
    check: Type.Enum(['decode', 'head'], {
      description:
        'How a generated image is validated before it is passed on. `decode`: completely. `head`: its beginning and its end.',
      default: 'decode',
    }),
  }),
  catalog: Type.Object({
    builtin: Type.Boolean({
      description: 'Whether the built-in models, prices and limits apply to the configured providers.',
      default: true,
    }),
    overrides: Type.Optional(text('JSON or YAML file of the same shape as the built-in catalog. Overrides it.')),
    auto_discover: Type.Boolean({
      description: 'Whether providers with a key in the environment, and model servers on this machine, are detected.',
      default: true,
    }),
    simulator: Type.Boolean({
      description:
        'Whether the simulator serves `simulator/echo` and its other models. If there are other providers, no list contains it and no router chooses it.',
      default: true,
    }),
  }),
  routers,
  plugins,
  limits,
  budgets,
  outbound,
  guardrails,
  tools,
  interns,
  mcp,
  routing: Type.Object({
    strategy: Type.Enum([...routingStrategies], {
      description:
        'Order of a model’s endpoints if neither the request nor its workspace sets one. `price`: drawn by price. `weighted`: drawn by `weight`. `latency`: drawn by the time to the first output. `least-busy`: fewest attempts in flight first.',
      default: 'price',
    }),
    models: Type.Array(
      Type.Object({
        model: text('Slug, with any number of `*`. The first match applies.'),
        strategy: Type.Enum([...routingStrategies], { description: 'Replaces `routing.strategy`.' }),
      }),
      { description: 'Strategies of single models.', default: [] },
    ),
    max_attempts: Type.Integer({
      description: 'Maximum attempts per request.',
      minimum: 1,
      maximum: 100,
      default: 12,
    }),
    outage_ms: milliseconds(
      'How long an endpoint in an outage is tried last. The time starts over with each failure.',
      30_000,
      100,
      { restart: true },
    ),
    sticky_ms: milliseconds('How long a session keeps its endpoint after each success. 0: never.', 600_000, 0),
    seed: Type.Optional(Type.Integer({ description: 'Makes random draws repeatable, for tests.', minimum: 0 })),
  }),
  bootstrap,
});

/** The effective configuration: every default filled in, every name interpolated, frozen. Keys as in the file. */
export type Config = Static<typeof configSchema>;
export type ProviderConfig = Config['providers'][number];
export type ModelConfig = ProviderConfig['models'][number];
export type McpConfig = Config['mcp'];
export type BootstrapConfig = Config['bootstrap'];
