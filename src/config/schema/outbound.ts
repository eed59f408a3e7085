import { Type } from 'typebox';
import { MAX_PHRASES, MAX_PHRASE_BYTES } from '../../domain/content-filter.ts';
import { byteField, hosts, milliseconds } from './fields.ts';

export const outboundSection = Type.Object({
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
  max_bytes: byteField('Maximum size of one fetched file.', 20_971_520),
  request_bytes: byteField('Maximum size of all fetched files of one request.', 33_554_432),
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

export const guardrailsSection = Type.Object({
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
      'Treatment of a request whose texts the analyzer has not analyzed. `allow`: it continues, and `router_metadata` shows that. `reject`: it is a 503.',
    default: 'allow',
  }),
  injection_allowlist: Type.Array(Type.String({ minLength: 1, maxLength: MAX_PHRASE_BYTES }), {
    description:
      'Phrases that hide from the patterns of `regex-prompt-injection`, in upper or lower case. At most 1,000 bytes each.',
    default: [],
    maxItems: MAX_PHRASES,
  }),
});
