import type { ImageShape } from '../../http/image-shape.ts';

/** The images of `POST /images`. @see docs/reference/images.md#result, docs/reference/images.md#streaming */
export const ownShape: ImageShape = {
  writeEvent(event) {
    const { type } = event;
    switch (type) {
      case 'image_generation.text_chunk':
        return { head: `data: ${JSON.stringify(event)}\n\n` };
      case 'image_generation.partial_image': {
        const { bytes, partial_image_index: index } = event;
        return { head: `data: {"type":"${type}","partial_image_index":${index},"b64_json":"`, bytes, tail: '"}\n\n' };
      }
      case 'image_generation.completed': {
        const { image, created, usage, routerMetadata } = event;
        const rest = JSON.stringify({ created, media_type: image.mediaType, usage, router_metadata: routerMetadata });
        return { head: `data: {"type":"${type}","b64_json":"`, bytes: image.bytes, tail: `",${rest.slice(1)}\n\n` };
      }
    }
  },
  writeFailure({ message, errorType, status, metadata }) {
    const param = typeof metadata['param'] === 'string' ? metadata['param'] : null;
    const error = { message, code: String(status), param, type: errorType };
    return `data: ${JSON.stringify({ type: 'error', error })}\n\n`;
  },
  writeEntry: ({ image }) => ({
    head: '{"b64_json":"',
    bytes: image.bytes,
    tail: `","media_type":"${image.mediaType}"}`,
  }),
  writeBody: (last) => ({
    before: { created: last?.created ?? 0 },
    after: { usage: last?.usage, router_metadata: last?.routerMetadata },
  }),
};
