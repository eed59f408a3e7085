// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { type Static, Type } from 'typebox';
import { contentKinds } from '../domain/content-record.ts';
import { inputModalities, MAX_WEIGHT, outputModalities, parameterNames, quantizations } from '../domain/endpoint.ts';
import { imageBillables, imageUnits } from '../domain/images.ts';
import { MAX_RATE_LIMIT } from '../domain/rate-limits.ts';
import { routingStrategies } from '../domain/routing-strategy.ts';

/*
 * The configuration, in the words of the file. The schema is its documentation: `describe.ts` makes
 * docs/reference/configuration.md of it. Four keywords are ours: `unit: 'bytes'` lets the file say `32MiB`;
 * `restart: true` marks what a reload cannot change; `secret: true` keeps a value out of every message;
 * `says` puts a pattern into words.
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
const text = (description: string) => Type.String({ description, minLength: 1 });

const server = Type.Object({
  host: Type.String({
    description: 'Address to listen on. Loopback unless you say otherwise; `0.0.0.0` for all.',
    default: '127.0.0.1',
    minLength: 1,
    restart: true,
  }),
  port: Type.Integer({
    description: 'Port to listen on; 0 takes any free one.',
    default: 8787,
    minimum: 0,
    maximum: 65535,
    restart: true,
  }),
  public_url: Type.Optional(
    Type.String({
      description: 'The address clients use, when a proxy stands in front. The start tells it.',
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      says: 'must be an http or https URL without credentials, query and fragment',
    }),
  ),
  regional_hosts: Type.Array(Type.String({ pattern: '^[A-Za-z0-9.-]+(:[0-9]+)?$', says: 'must be a host name' }), {
    description:
      'Host names at which interns are not reached. Without effect in this build, which has no interns; no request is held to a region by it.',
    default: [],
  }),
  region: Type.String({ description: 'Name of the region this gateway stands in.', default: 'local', minLength: 1 }),
  body_limit: bytes('Largest request body, in bytes or as `32MiB`. A larger one gets 413.', 33_554_432, {
    restart: true,
  }),
  body_memory: Type.Optional(
    Type.Integer({
      description:
        'Memory for the request bodies of all requests in flight, in each process. A body of more than 64 KiB counts until its response is complete; one without room gets 429. Absent: an eighth of the JavaScript heap (`--max-old-space-size`).',
      minimum: 65_536,
      unit: 'bytes',
    }),
  ),
  upstream_body_limit: bytes(
    'Largest response read from a provider, in bytes or as `32MiB`: the body of a whole one, or the texts, calls, images and annotations of a streamed one.',
    33_554_432,
  ),
  cors_origins: Type.Array(
    Type.String({
      pattern: '^(\\*|https?://[^/?#@\\s]+)$',
      says: 'must be an origin like `https://app.example.com`, or `*`',
    }),
    {
      description: 'Origins whose pages may call the gateway; `*` is any. Empty: CORS is off.',
      default: [],
      restart: true,
    },
  ),
  keep_alive_comment_ms: milliseconds(
    'A stream that is silent for this long gets a comment, so that proxies keep it open. 0: never.',
    10_000,
    0,
  ),
  shutdown_grace_ms: milliseconds('How long open requests may go on after SIGTERM.', 30_000, 0),
  workers: Type.Integer({
    description:
      'Processes that serve, beside one that leads them. 1: a single process does all. 0: one for each core.',
    default: 1,
    minimum: 0,
    maximum: 256,
    restart: true,
  }),
  metrics: Type.Enum(['loopback', 'management', 'public', 'off'], {
    description:
      'Who may read `GET /metrics`. `loopback`: anybody, while the gateway listens on loopback, is asked by an address of loopback or as `localhost`, and no proxy shows in the headers, else whoever has a management key; `management`: that key always; `public`: anybody; `off`: nobody.',
    default: 'loopback',
  }),
});

const tokenPrices = {
  prompt: price('USD per input token.'),
  completion: price('USD per output token.'),
  cache_read: price('USD per input token read from the prompt cache. Absent: as `prompt`.'),
  cache_write: price('USD per input token written to the prompt cache. Absent: as `prompt`.'),
  cache_write_1h: price('The same, kept for an hour. Absent: as `cache_write`.'),
  reasoning: price('USD per token of reasoning. Absent: as `completion`.'),
  audio: price('USD per input token of sound. Absent: as `prompt`.'),
  audio_cache_read: price('USD per input token of sound read from the prompt cache. Absent: as `cache_read`.'),
  audio_output: price('USD per output token of sound. Absent: as `completion`.'),
  image_token: price('USD per input token of pictures. Absent: as `prompt`.'),
  image_output: price('USD per output token of pictures. Absent: as `completion`.'),
};

const pricing = Type.Object({
  ...tokenPrices,
  request: price('USD per request.'),
  image: price('USD per image that is read.'),
  web_search: price('USD per search of the web that the provider makes.'),
  searched_request: price('USD per answer for which it searched, however often.'),
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
      description: 'What `values`, or `min` and `max`, or nothing tell.',
    }),
    values: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'With `enum`: all of them.' })),
    min: Type.Optional(Type.Integer({ description: 'With `range`.', minimum: 0 })),
    max: Type.Optional(Type.Integer({ description: 'With `range`.', minimum: 0 })),
  },
  { description: 'What it takes for one field of `POST /images`.' },
);

const image = Type.Object({
  parameters: Type.Optional(
    Type.Record(Type.String({ pattern: '^[a-z_]+$' }), imageCapability, {
      description:
        'Every field of `POST /images` that it takes, and its `type` (`enum` with `values`, `range` with `min` and `max`, `boolean`). Absent: as the catalogue or the wire has it. What is sent besides is fitted or left out.',
    }),
  ),
  passthrough: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { description: 'Keys of `provider.options` that it is given.' }),
  ),
  streaming: Type.Optional(Type.Boolean({ description: 'Sends partial pictures.' })),
  pricing: Type.Optional(
    Type.Array(
      Type.Object({
        billable: Type.Enum([...imageBillables], { description: 'What is paid for.' }),
        unit: Type.Enum([...imageUnits], { description: 'What it is counted in.' }),
        cost_usd: Type.Number({ description: 'USD per unit.', minimum: 0 }),
        variant: Type.Optional(
          Type.String({ description: 'The tier that it holds for: `2k`. Absent: any.', minLength: 1 }),
        ),
      }),
      { description: 'What pictures cost, line by line; all lines are added up.' },
    ),
  ),
});

const capabilities = Type.Object({
  tools: Type.Optional(Type.Boolean({ description: 'Can call tools.' })),
  structured_outputs: Type.Optional(Type.Boolean({ description: 'Keeps to a JSON schema.' })),
  reasoning: Type.Optional(Type.Boolean({ description: 'Thinks before it answers.' })),
  input: Type.Optional(Type.Array(Type.Enum([...inputModalities]), { description: 'What it reads.' })),
  output: Type.Optional(Type.Array(Type.Enum([...outputModalities]), { description: 'What it makes.' })),
});

/** What becomes of the address of a picture or file. */
const urlSettings = ['pass', 'fetch'] as const;

const model = Type.Object({
  model: text('Slug at the gateway: `openai/gpt-5-mini`. May hold one `*`, which takes any rest: `local/*`.'),
  upstream_model: Type.Optional(
    text(
      'Name at the provider; absent: `model`. `*` takes what the star of `model` matched, and is the default there.',
    ),
  ),
  pricing: Type.Optional(pricing),
  context_length: Type.Optional(Type.Integer({ description: 'Tokens that fit, input and output.', minimum: 1 })),
  max_output_tokens: Type.Optional(Type.Integer({ description: 'The most tokens of one answer.', minimum: 1 })),
  max_prompt_tokens: Type.Optional(Type.Integer({ description: 'The most tokens of one input.', minimum: 1 })),
  quantization: Type.Optional(
    Type.Enum([...quantizations], { description: 'How its weights are kept. Absent: `unknown`.' }),
  ),
  supported_parameters: Type.Optional(
    Type.Array(Type.Enum([...parameterNames]), {
      description: 'All parameters it takes. What is sent besides is left out and named.',
    }),
  ),
  tier: Type.Optional(
    Type.Enum(['default', 'flex', 'priority'], {
      description:
        'Service tier of this endpoint, chosen by `service_tier` and `:nitro`, `:floor`. Absent: the tier of a request is passed on.',
    }),
  ),
  tag: Type.Optional(
    text('Told apart by `provider.order`, `only` and `ignore` as `<provider>/<tag>`: a region, a variant.'),
  ),
  weight: Type.Optional(
    Type.Number({
      description:
        'Share of the requests of its model, beside the weights of its other endpoints: 1 and 99 are 1 and 99 percent. 0: only a fallback. Absent: as the provider says.',
      minimum: 0,
      maximum: MAX_WEIGHT,
    }),
  ),
  distillable: Type.Optional(
    Type.Boolean({ description: 'Its author allows that other models learn from what it says.' }),
  ),
  capabilities: Type.Optional(capabilities),
  urls: Type.Optional(Type.Enum([...urlSettings], { description: 'Overrides `urls` of the provider.' })),
  image: Type.Optional(image),
});

/** Wires of this build: the folder names under `src/providers/`, and `openai`, which is one of two. */
export const wireNames = [
  'openai',
  'openai-responses',
  'openai-chat',
  'anthropic-messages',
  'gemini',
  'openai-images',
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
      'Protocol the provider speaks. `openai`: `openai-responses` or `openai-chat`, whichever its server has. Absent: what the entry does not say is taken from the built-in list, by its id.',
  }),
  base_url: Type.Optional(
    Type.String({
      description: 'Address of the provider up to its version: `https://api.openai.com/v1`. Needed unless simulated.',
    }),
  ),
  api_key: Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })], {
      description: 'The provider’s key; a list rotates. Write `${NAME}`, not the key itself.',
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
      description: 'What is special about this provider’s way to speak the wire; each wire documents its settings.',
    }),
  ),
  package: Type.Optional(text('With `wire: ai-sdk`: the npm package that asks, installed by you: `@ai-sdk/cohere`.')),
  factory: Type.Optional(
    text('With `wire: ai-sdk`: its function that makes a provider. Absent: by its name, `createCohere`.'),
  ),
  settings: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'With `wire: ai-sdk`: what that function is given besides `api_key`, `base_url` and `headers`.',
      secret: true,
    }),
  ),
  same_as: Type.Optional(
    text('Id of the built-in provider that this is another account of: takes what is not said here from there.'),
  ),
  workspace: Type.Optional(
    text('Name or id of a workspace whose own key this is: it alone may use it, before the providers of all.'),
  ),
  is_fallback: Type.Optional(
    Type.Boolean({ description: 'With `workspace`: after the providers of all, not before.' }),
  ),
  weight: Type.Optional(
    Type.Number({
      description: 'Weight of its models that have none of their own. Absent: 1.',
      minimum: 0,
      maximum: MAX_WEIGHT,
    }),
  ),
  urls: Type.Optional(
    Type.Enum([...urlSettings], {
      description:
        'Addresses of pictures and files: `pass` leaves them to the provider, `fetch` sends what is there, for providers that take none. Absent: `pass`, or what the built-in list says.',
    }),
  ),
  data_policy: Type.Optional(
    Type.Object({
      retains: Type.Optional(
        Type.Boolean({ description: 'Keeps what it is sent. Absent: taken for true by `provider.zdr`.' }),
      ),
      trains: Type.Optional(
        Type.Boolean({ description: 'Learns from it. Absent: taken for true by `provider.data_collection: deny`.' }),
      ),
    }),
  ),
  models: Type.Array(model, { description: 'Endpoints of this provider.', minItems: 1 }),
});

const limitFields = {
  requests_per_minute: Type.Integer({
    description: 'Requests within 60 seconds. 0: any number.',
    default: 0,
    minimum: 0,
  }),
  tokens_per_minute: Type.Integer({
    description:
      'Tokens, input and output, within 60 seconds; the request after the one that exceeded it is rejected. 0: any number.',
    default: 0,
    minimum: 0,
  }),
  concurrent_streams: Type.Integer({
    description: 'Streams that are open at once. 0: any number.',
    default: 0,
    minimum: 0,
  }),
};

/** Rate limits of one key, member or workspace. */
const ownLimit = (description: string) =>
  Type.Optional(
    Type.Integer({
      description: `${description} 0: any number. Absent: as set over the management API.`,
      minimum: 0,
      maximum: MAX_RATE_LIMIT,
    }),
  );
const ownLimitFields = {
  requests_per_minute: ownLimit('Requests within 60 seconds.'),
  tokens_per_minute: ownLimit('Tokens, input and output, within 60 seconds.'),
  concurrent_streams: ownLimit('Streams that are open at once.'),
};

const bootstrapKey = Type.Object({
  key: Type.String({
    description: 'The key itself, 8 or more characters. Write `${NAME}`.',
    minLength: 8,
    pattern: '^[!-~]+$',
    says: 'must be printable ASCII without spaces',
    secret: true,
  }),
  name: text('Name for people.'),
  workspace: Type.Optional(text('Name or id of its workspace. Every key but a management key has one.')),
  member: Type.Optional(text('Id of the member who owns it.')),
  acts_as: Type.Optional(
    Type.Literal('organization', { description: 'In place of `member`: acts as the organization.' }),
  ),
  kind: Type.Optional(
    Type.Enum(['inference', 'management'], {
      description: 'Absent: `inference`. A management key administers and cannot ask models.',
    }),
  ),
  disabled: Type.Optional(Type.Boolean({ description: 'Known, but refused.' })),
  credit_usd: Type.Optional(
    Type.Number({
      description: 'USD that it may spend in all. Absent: as the management API says.',
      minimum: 0,
      maximum: 9_000_000,
    }),
  ),
  ...ownLimitFields,
});

const bootstrap = Type.Object({
  workspaces: Type.Array(
    Type.Object({
      id: Type.Optional(text('Stable id, best a UUID. Absent: made at the first start.')),
      name: text('Unique name.'),
      ...ownLimitFields,
    }),
    { description: 'Workspaces that must be there.', default: [] },
  ),
  members: Type.Array(
    Type.Object({
      id: text('Unique id of the member.'),
      workspaces: Type.Array(Type.String({ minLength: 1 }), { description: 'Names or ids.', default: [] }),
      ...ownLimitFields,
    }),
    { description: 'Members that must be there, in exactly these workspaces.', default: [] },
  ),
  keys: Type.Array(bootstrapKey, { description: 'Keys that must be there.', default: [] }),
});

const patterns = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { description, maxItems: 1024 }));

const routers = Type.Object({
  latest: Type.Array(
    Type.Object({
      alias: Type.String({
        description: '`~author/family-latest`.',
        pattern: '^~[^/\\s]+/\\S+$',
        says: 'must be `~author/family-latest`',
      }),
      pattern: text('Which models belong to the family: `acme/one-*`.'),
      exclude: patterns('Which of them do not.'),
    }),
    { description: 'Aliases of the newest model of a family, besides the built-in ones.', default: [] },
  ),
  auto: Type.Object({
    rankings: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1 })), {
        description:
          'Models by task (`code:debugging`, `translation`, …; `default` for the others), the best first, where the ledger has no ranking.',
      }),
    ),
    allowed_models: patterns('Patterns of the models that may be chosen, where a request names none.'),
    excluded_models: patterns('Patterns of models that may not.'),
    cost_tier: Type.Optional(
      Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'], {
        description: 'Band of cost, where a request names none.',
      }),
    ),
    cost_quality_tradeoff: Type.Optional(
      Type.Integer({ description: '0 the best, 10 the cheapest; `cost_tier` wins.', minimum: 0, maximum: 10 }),
    ),
    prevent_overrides: Type.Boolean({
      description: 'What is set here holds also where a request says otherwise.',
      default: false,
    }),
    classifier: Type.Optional(
      Type.Object({
        model: text('A small, fast model that says what a conversation is about. Absent: its words are looked at.'),
        timeout_ms: milliseconds('How long it may take; then the words are looked at.', 2000),
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
        { description: 'Coding models and their scores. Absent: those of the catalogue.' },
      ),
    ),
    min_coding_score: Type.Optional(
      Type.Number({ description: '0 to 1, where a request says nothing.', minimum: 0, maximum: 1 }),
    ),
    max_price: Type.Optional(
      Type.Number({ description: 'USD per million input tokens, where a request says nothing.', minimum: 0 }),
    ),
    price_source: Type.Optional(
      Type.Enum(['prompt', 'weighted_avg'], {
        description: 'List price, or what the gateway has paid on the average.',
      }),
    ),
  }),
  bodybuilder: Type.Object({
    model: Type.Optional(text('The model that writes request bodies. Absent: the cheapest that keeps to a schema.')),
  }),
});

const limits = Type.Object({
  ...limitFields,
  member: Type.Object(limitFields),
  workspace: Type.Object(limitFields),
  models: Type.Array(
    Type.Object({
      model: text('Slug; may hold one `*`. The first that matches counts.'),
      ...limitFields,
    }),
    {
      description: 'Limits of a model, whoever asks it: by its name, as one of `models`, or by a router that chose it.',
      default: [],
    },
  ),
});

const hosts = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { description, default: [], maxItems: 1024 });

const outbound = Type.Object({
  fetch: Type.Boolean({
    description:
      'Fetch what parts of a message point to, for providers with `urls: fetch`. False: such requests get 400.',
    default: true,
  }),
  allow: hosts(
    'Private networks, addresses and host names from which may be fetched: `10.0.0.0/8`, `files.example.internal`, `*.corp.example:8081`, `127.0.0.1:9000`. Public ones need no entry.',
  ),
  deny: hosts('The same for what is closed; wins over `allow`.'),
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65535 }), {
    description: 'Ports that are open everywhere. An entry of `allow` may open another one for its host.',
    default: [80, 443, 8080, 8443],
    minItems: 1,
    maxItems: 64,
  }),
  max_bytes: bytes('The most that is read of one address.', 20_971_520),
  request_bytes: bytes('The most that is read for one request.', 33_554_432),
  request_urls: Type.Integer({
    description: 'The most addresses of one request.',
    default: 16,
    minimum: 1,
    maximum: 256,
  }),
  timeout_ms: milliseconds('For one address, redirects and waiting for a place included.', 20_000),
  idle_ms: milliseconds('Longest silence: until a connection stands, until the answer begins, within it.', 10_000),
  parallel: Type.Integer({
    description: 'Addresses that are fetched at once; the others wait.',
    default: 8,
    minimum: 1,
    maximum: 256,
  }),
});

const budgetFields = (whose: string) => {
  const usd = (window: string) =>
    Type.Optional(
      Type.Number({ description: `USD that ${whose} may spend ${window}.`, exclusiveMinimum: 0, maximum: 9_000_000 }),
    );
  return Type.Object({
    daily: usd('a day (UTC)'),
    weekly: usd('a week, from Monday on'),
    monthly: usd('a month'),
    lifetime: usd('in all'),
    include_byok: Type.Boolean({ description: 'Counts what own keys of workspaces cost as well.', default: false }),
  });
};

const budgets = Type.Object({
  organization: budgetFields('all workspaces together'),
  member: budgetFields('each member, in all workspaces,'),
});

/** Least to none. */
const logFormats = ['auto', 'pretty', 'json'] as const;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** The whole file. The schema takes what `load.ts` has already merged and interpolated. */
export const configSchema = Type.Object({
  server,
  storage: Type.Object({
    url: Type.String({
      description:
        'Where everything is kept: `file:…` (SQLite; relative to the working directory) or `postgres://…`. `<data>` is the data folder.',
      default: 'file:<data>/headgate.db',
      pattern: '^(file:.|postgres(ql)?://.)',
      says: 'must be `file:` and a path, or a `postgres://` URL',
      secret: true,
      restart: true,
    }),
    grace_ms: milliseconds(
      'How long models are asked while the store does not answer, by the keys and limits that are in memory; after it, 503.',
      600_000,
      0,
    ),
  }),
  ledger: Type.Object({
    durability: Type.Enum(['standard', 'strict'], {
      description:
        'When a response may end. `standard`: once the kernel has its ledger entry, which survives `kill -9`; a power cut may lose the last 100 ms. `strict`: once the entry is synced to the disk of the data folder, too, which takes the time of an `fdatasync`; many responses share one.',
      default: 'standard',
    }),
  }),
  counters: Type.Object({
    url: Type.String({
      description:
        'Where limits and budgets are counted that several hosts share: `redis://…` or `valkey://…` (`rediss:`, `valkeys:` with TLS). Empty: in the PostgreSQL of `storage.url`, otherwise in the process. `memory`: in the process, always.',
      default: '',
      pattern: '^(|memory|(redis|valkey)s?://.+)$',
      says: 'must be a `redis://` or `valkey://` URL, `memory`, or empty',
      restart: true,
      secret: true,
    }),
    timeout_ms: milliseconds('How long they may take to answer, once; until they do again nobody waits.', 250),
    on_failure: Type.Enum(['open', 'closed'], {
      description:
        'When they do not answer. `open`: each process counts for itself, rates as long as it lasts, budgets for `grace_ms`; `closed`: what has limits gets 503.',
      default: 'open',
    }),
    grace_ms: milliseconds('How long budgets are then held by each process for itself; after it, 503.', 600_000, 0),
  }),
  secrets: Type.Object({
    master_key: Type.Optional(
      Type.String({
        description:
          'Protects what is kept: keys the hashes of end users’ ids. Absent: made at the first start and kept in the data folder (0600).',
        minLength: 1,
        restart: true,
        secret: true,
      }),
    ),
  }),
  log: Type.Object({
    level: Type.Enum([...logLevels], { description: 'How much is logged.', default: 'info' }),
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
          'Where traces go, as OTLP over HTTP in JSON: `http://localhost:4318`; `/v1/traces` is added unless it stands there. Absent: there are none. Needs packages that you install; a start without them names them.',
        pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
        says: 'must be an http or https URL without credentials, query and fragment',
        restart: true,
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_|~-]+$" }), Type.String(), {
        description: 'Headers for every request to that address: its key, say.',
        secret: true,
        restart: true,
      }),
    ),
    sampling: Type.Number({
      description: 'Share of requests that are traced. A session is traced whole or not at all.',
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
        'The most that is kept of one generation, in bytes or as `256KiB`. What is longer is cut, with a mark that says so.',
      default: 262_144,
      minimum: 4096,
      maximum: 16_777_216,
      unit: 'bytes',
    }),
    max_pending_bytes: bytes(
      'The most that waits for the store, in bytes or as `32MiB`. Beyond it contents are dropped and counted; requests go on.',
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
        'What is kept as text; of everything else the kind and the size. `reasoning_text` may be kept, too; pictures, files and sealed reasoning never are.',
      default: contentKinds.filter((kind) => kind !== 'reasoning_text'),
    }),
  }),
  timeouts: Type.Object({
    request_ms: milliseconds('Deadline of a client’s whole request; 408 after it.', 600_000),
    receive_ms: milliseconds('Until a client has sent its whole request; 408 after it.', 120_000, 1, { restart: true }),
    connect_ms: milliseconds('Until a connection to a provider stands.', 5_000),
    first_byte_ms: milliseconds('Until a provider’s answer begins.', 120_000),
    idle_ms: milliseconds('Longest silence within a provider’s answer.', 60_000),
    total_ms: milliseconds('Until a provider’s answer is complete.', 600_000),
  }),
  retry: Type.Object({
    attempts: Type.Integer({
      description: 'The most attempts at one endpoint for a request, the first included. 1: no retries.',
      default: 3,
      minimum: 1,
      maximum: 10,
    }),
    backoff_ms: milliseconds(
      'The delay before the first retry is random, up to this; it doubles with each further retry.',
      250,
      0,
    ),
    max_backoff_ms: milliseconds('The longest such delay.', 4_000, 0),
    max_retry_after_ms: milliseconds(
      'A provider that asks for a longer wait (`Retry-After`) is not tried again.',
      5_000,
      0,
    ),
    budget_ms: milliseconds('No retry starts later than this after the first attempt of the request.', 10_000, 0),
    share: Type.Number({
      description: 'The most retries of a provider within 60 seconds, as a share of its requests.',
      default: 0.1,
      minimum: 0,
      maximum: 1,
    }),
    minimum: Type.Integer({
      description: 'As many retries of a provider within 60 seconds are allowed in any case.',
      default: 10,
      minimum: 0,
      maximum: 1_000_000,
    }),
  }),
  providers: Type.Array(provider, {
    description: 'Where models are. None: the simulator alone, as `simulator/*`.',
    default: [],
  }),
  images: Type.Object({
    request_ms: milliseconds('Deadline of `POST /images`; 524 after it.', 300_000),
    stream_ms: milliseconds('The same with `stream: true`.', 600_000),
    body_limit: bytes(
      'Largest body of `POST /images`, references included. Those that are addresses may have as much again, all together.',
      67_108_864,
      { restart: true },
    ),
    answer_limit: bytes('Largest answer of a provider of pictures, or single event of its stream.', 134_217_728),
    memory: bytes(
      'Memory for such answers, all together. Beyond it providers are read later; an answer that is larger goes alone.',
      67_108_864,
    ),
    reference_limit: bytes('Largest reference picture.', 20_971_520),
    check: Type.Enum(['decode', 'head'], {
      description:
        'How a picture that a provider made is looked at before it is passed on. `decode`: all of it; `head`: its beginning and its end.',
      default: 'decode',
    }),
  }),
  catalog: Type.Object({
    builtin: Type.Boolean({
      description: 'Models, prices and limits that Headgate knows of, for the providers that are configured.',
      default: true,
    }),
    overrides: Type.Optional(
      text('A file of the same shape as the built-in catalogue (JSON or YAML), which speaks over it.'),
    ),
    auto_discover: Type.Boolean({
      description: 'Whether providers with a key in the environment, and model servers on this machine, are detected.',
      default: true,
    }),
    simulator: Type.Boolean({
      description:
        'The simulator answers `simulator/echo` and its other models. Beside other providers it is in no list, and no router chooses it.',
      default: true,
    }),
  }),
  routers,
  limits,
  budgets,
  outbound,
  routing: Type.Object({
    strategy: Type.Enum([...routingStrategies], {
      description:
        'How the endpoints of a model are ordered if neither the request nor its workspace says it. `price`: drawn by price; `weighted`: drawn by `weight`; `latency`: drawn by the time to the first output; `least-busy`: fewest attempts in flight first.',
      default: 'price',
    }),
    models: Type.Array(
      Type.Object({
        model: text('Slug; may hold `*`. The first that matches counts.'),
        strategy: Type.Enum([...routingStrategies], { description: 'In place of `routing.strategy`.' }),
      }),
      { description: 'Strategies of single models.', default: [] },
    ),
    max_attempts: Type.Integer({
      description: 'The most endpoints that are tried for one request.',
      minimum: 1,
      maximum: 100,
      default: 12,
    }),
    outage_ms: milliseconds(
      'How long an endpoint that fails time and again is asked last; over once it has been quiet for so long.',
      30_000,
      100,
      { restart: true },
    ),
    sticky_ms: milliseconds(
      'How long a session goes back to the endpoint that served it; each success starts it anew. 0: never.',
      600_000,
      0,
    ),
    seed: Type.Optional(
      Type.Integer({ description: 'Makes every draw the same in every run: for tests.', minimum: 0 }),
    ),
  }),
  bootstrap,
});

/** The effective configuration: every default filled in, every name interpolated, frozen. Keys as in the file. */
export type Config = Static<typeof configSchema>;
export type ProviderConfig = Config['providers'][number];
export type ModelConfig = ProviderConfig['models'][number];
export type BootstrapConfig = Config['bootstrap'];
