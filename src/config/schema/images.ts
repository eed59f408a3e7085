import { Type } from 'typebox';
import { byteField, milliseconds } from './fields.ts';

export const imagesSection = Type.Object({
  request_ms: milliseconds('Deadline of `POST /images`. After it, 524.', 300_000),
  stream_ms: milliseconds('The same with `stream: true`.', 600_000),
  body_limit: byteField(
    'Largest body of `POST /images`, including references. Referenced URLs may add the same amount in total.',
    67_108_864,
    { restart: true },
  ),
  answer_limit: byteField('Largest response of an image provider, or single event of its stream.', 134_217_728),
  memory: byteField(
    'Memory for such responses in total. If it is full, further responses are read later. A larger response is read alone.',
    67_108_864,
  ),
  reference_limit: byteField('Largest reference image.', 20_971_520),
  check: Type.Enum(['decode', 'head'], {
    description:
      'How a generated image is validated before it is passed on. `decode`: completely. `head`: its beginning and its end.',
    default: 'decode',
  }),
});
