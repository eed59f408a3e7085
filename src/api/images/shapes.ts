import { Type } from 'typebox';
import { routerMetadata } from '../../openapi/error-shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import { openObject, seconds, text } from '../../openapi/shapes.ts';

/** @see docs/reference/images.md */
export const imageList = named(
  'Images',
  Type.Object({
    created: seconds,
    data: Type.Array(Type.Object({ b64_json: text, media_type: text })),
    usage: Type.Optional(openObject),
    router_metadata: Type.Optional(routerMetadata),
  }),
);

export const openAIImages = named(
  'OpenAIImages',
  Type.Object({
    created: seconds,
    data: Type.Array(Type.Object({ b64_json: Type.Optional(text), url: Type.Optional(text), media_type: text })),
    background: Type.Optional(text),
    output_format: text,
    quality: Type.Optional(text),
    size: Type.Optional(text),
    usage: openObject,
    router_metadata: Type.Optional(routerMetadata),
  }),
);
