import { Type } from 'typebox';
import { byteField, milliseconds, optionalMilliseconds } from './fields.ts';

export const serverSection = Type.Object({
  host: Type.String({
    description: 'Address to listen on. `0.0.0.0`: all addresses. `::`: all, with IPv6.',
    default: '127.0.0.1',
    minLength: 1,
    pattern: '^[A-Za-z0-9_.:%-]*$',
    says: 'must be a host name or an address, without a scheme, brackets and path',
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
  advertise_url: Type.Optional(
    Type.String({
      description:
        'URL at which the other hosts of the same database reach this host itself, not a load balancer. They pass on requests for interns that run here. Absent: such requests are a 503 there. It applies to interns that start afterwards.',
      pattern: '^https?://[^/?#@\\s]+$',
      says: 'must be an http or https URL without credentials, path, query and fragment',
    }),
  ),
  console: Type.Boolean({
    description: 'Whether the web console is served at `/console`. Otherwise it is a 404, and no session works.',
    default: true,
  }),
  regional_hosts: Type.Array(Type.String({ pattern: '^[A-Za-z0-9.-]+(:[0-9]+)?$', says: 'must be a host name' }), {
    description:
      'Host names that serve no stored files, no files of containers and no interns: these routes are a 403 there. It does not bind requests to a region.',
    default: [],
  }),
  region: Type.String({ description: 'Region of this gateway.', default: 'local', minLength: 1 }),
  account_identity: Type.Boolean({
    description:
      'Whether providers get a keyed hash of the workspace if a request for text names no end user. It tells them which requests belong together if they limit abuse.',
    default: true,
  }),
  body_limit: byteField('Largest request body, in bytes or as `32MiB`. A larger one is a 413.', 33_554_432, {
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
  upstream_body_limit: byteField(
    'Largest response read from a provider, in bytes or as `32MiB`: the body of a whole response, or the texts, calls, images and annotations of a stream. The turns of a response with server tools count together.',
    33_554_432,
  ),
  cors_origins: Type.Array(
    Type.String({
      pattern: '^(\\*|https?://(\\*\\.)?[^*/?#@\\s]+)$',
      says: 'must be an origin like `https://app.example.com` or `https://*.example.com`, or `*`',
    }),
    {
      description:
        'Origins whose pages may call the gateway: `https://app.example.com`, `https://*.example.com` for its subdomains, or `*` for any. Empty: CORS is off.',
      default: [],
      restart: true,
    },
  ),
  keep_alive_comment_ms: milliseconds(
    'Idle time after which a stream gets a comment, so that proxies keep it open. 0: never.',
    10_000,
    0,
  ),
  socket_ping_ms: milliseconds(
    'Interval of the pings of a WebSocket. One whose client neither responds nor reads within two intervals is closed. 0: never.',
    30_000,
    0,
  ),
  socket_idle_ms: milliseconds(
    'Time without a response after which a WebSocket is closed, with its conversation. 0: never.',
    900_000,
    0,
  ),
  socket_lifetime_ms: milliseconds(
    'Age after which a WebSocket is closed, once its responses are complete. 0: never.',
    3_600_000,
    0,
  ),
  drain_ms: optionalMilliseconds(
    'Time after SIGTERM in which new requests are still served while `/ready` is a 503, so that load balancers notice. Absent: 5 s if `/ready` was requested within the last minute, otherwise 0. After SIGINT (Ctrl-C) there is none.',
    0,
  ),
  shutdown_grace_ms: milliseconds('Time for open requests to end after SIGTERM and `server.drain_ms`.', 30_000, 0),
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
  metrics_callers: Type.Enum(['none', 'workspace', 'key'], {
    description:
      'Labels of the costs, tokens and responses of callers in `GET /metrics`. `key`: the workspace and the key. At most 1,000 of them; all others count as `other`.',
    default: 'workspace',
    restart: true,
  }),
});
