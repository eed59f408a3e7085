import { routesOf } from '../../http/define-route.ts';
import { openAIError } from '../../openapi/error-shapes.ts';
import { runHeaders } from '../../openapi/parameters.ts';
import { named } from '../../openapi/schema-writer.ts';
import { editForm, generationSchema } from '../../requests/images/openai.ts';
import { imageSchema } from '../../requests/images/schema.ts';
import { writeImageError, writeOpenAIImageError } from './errors.ts';
import { createImagesHandler, type ImagesParts } from './handler.ts';
import { editApi, generationApi } from './openai.ts';
import { imageList, openAIImages } from './shapes.ts';

export interface ImageRouteParts extends ImagesParts {
  /** The maximum body, in bytes. */
  bodyLimit: number;
}

const route = routesOf<ImageRouteParts>({
  base: '/api/v1/images',
  tag: 'Inference',
  permission: 'inference',
  limitBody: ({ bodyLimit }) => ({ bytes: bodyLimit, source: 'images.body_limit' }),
});

/** The routes that generate images. @see docs/reference/images.md */
export const imageRoutes = [
  route('POST', '', {
    id: 'createImage',
    summary: 'Create images',
    headers: runHeaders,
    body: {
      schema: named('ImageRequest', imageSchema),
      example: { model: 'simulator/image', prompt: 'A red circle' },
    },
    response: {
      description: 'The images. With `stream: true` an event stream, if the endpoint can stream.',
      schema: imageList,
      stream: 'Server-sent events. `data` of each is an object with `type`.',
    },
    lacks: [408, 422, 503],
    takesInterns: true,
    errors: writeImageError,
    open: (parts) => createImagesHandler(parts),
  }),
  route('POST', '/generations', {
    id: 'generateImage',
    summary: "Create images in OpenAI's shape",
    headers: runHeaders,
    body: {
      schema: named('ImageGenerationRequest', generationSchema),
      example: { model: 'simulator/image', prompt: 'A red circle' },
    },
    response: {
      description: 'The images. With `stream: true` an event stream.',
      schema: openAIImages,
      stream: 'Server-sent events. `data` of each is an object with `type`.',
    },
    lacks: [408, 422, 503],
    takesInterns: true,
    errors: writeOpenAIImageError,
    error: openAIError,
    open: (parts) => createImagesHandler(parts, generationApi),
  }),
  route('POST', '/edits', {
    id: 'editImage',
    summary: "Edit images in OpenAI's shape",
    description: 'A JSON body is accepted, too: `images` has objects with `image_url`.',
    headers: runHeaders,
    body: { schema: named('ImageEditForm', editForm), type: 'multipart/form-data' },
    response: {
      description: 'The images. With `stream: true` an event stream.',
      schema: openAIImages,
      stream: 'Server-sent events. `data` of each is an object with `type`.',
    },
    lacks: [408, 422, 503],
    takesInterns: true,
    takesForms: true,
    errors: writeOpenAIImageError,
    error: openAIError,
    open: (parts) => createImagesHandler(parts, editApi),
  }),
];
