import { Type } from 'typebox';
import { contentKinds } from '../../domain/content-record.ts';
import { byteField } from './fields.ts';

/** From most to least verbose. */
const logFormats = ['auto', 'pretty', 'json'] as const;

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const logSection = Type.Object({
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
});

export const telemetrySection = Type.Object({
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
  contents: Type.Boolean({
    description:
      'Whether spans have the inputs and outputs of [workspaces that keep them](../guides/observability.md#contents-in-traces).',
    default: false,
    restart: true,
  }),
  contents_max_bytes: Type.Integer({
    description: 'Maximum content of a span, in bytes or as `16KiB`. Longer content is truncated and marked.',
    default: 16_384,
    minimum: 4096,
    maximum: 262_144,
    unit: 'bytes',
    restart: true,
  }),
  service_name: Type.String({
    description: 'Name of this gateway in traces.',
    default: 'headgate',
    minLength: 1,
    restart: true,
  }),
});

export const ioLoggingSection = Type.Object({
  max_bytes: Type.Integer({
    description:
      'Maximum stored content of one generation, in bytes or as `256KiB`. Longer content is truncated and marked.',
    default: 262_144,
    minimum: 4096,
    maximum: 16_777_216,
    unit: 'bytes',
  }),
  max_pending_bytes: byteField(
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
});
