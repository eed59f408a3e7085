import { Type } from 'typebox';
import { byteField, countField, milliseconds, textField } from './fields.ts';

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
      model: textField('Model that the service uses: `mistral-ocr-latest`.'),
      price_per_page: Type.Number({
        description: 'USD that a caller pays per page.',
        default: 0,
        minimum: 0,
        maximum: 1000,
      }),
      timeout_ms: milliseconds('Timeout of one file.', 120_000),
    }),
  ),
  max_files: countField('Maximum number of files in one request that the gateway reads.', 32, 1000),
  max_bytes: byteField('Maximum size of one file.', 33_554_432),
  max_pages: countField('Maximum number of pages of a PDF.', 1000, 100_000),
  max_characters: countField('Maximum characters of text of all files of one request.', 4_000_000, 100_000_000),
  max_unpacked_bytes: byteField('Maximum size of the parts of an Office file together.', 134_217_728),
  timeout_ms: milliseconds('Time limit of reading one file, without the wait in the queue.', 30_000),
  request_timeout_ms: milliseconds(
    'Time limit of reading all files of one request, without their waits in the queue.',
    60_000,
  ),
  memory: byteField('Memory of one thread that reads files: of its heap and its buffers together.', 268_435_456),
  parallel: countField(
    'Number of files that one process reads at the same time, each in its own thread. One workspace has at most one less, if there are several. A file of a workspace that has none in a thread waits for at most a second for each such workspace before it.',
    3,
    64,
  ),
  queue: countField(
    'Number of files that wait. Workspaces take turns. More are a 503 for the workspace with most waiting files.',
    64,
    10_000,
  ),
});

export const pluginsSection = Type.Object({
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
      textField('Model of the service: `omni-moderation-latest`. Without `url`: slug of a model of this gateway.'),
    ),
    timeout_ms: milliseconds('Timeout of the moderation of one input. After it, the moderation has failed.', 5000),
    images: Type.Boolean({
      description: 'Whether the service gets the images of an input, too. Each is a request of its own.',
      default: false,
    }),
    required: Type.Boolean({
      description:
        'Whether a request whose input should be moderated and cannot be is rejected. Otherwise it is sent, and its metadata shows that.',
      default: false,
    }),
  }),
});
