import type { Caller } from '../../domain/caller.ts';
import type { Issue } from '../../domain/errors.ts';
import type { EncodedImage, ImageRequest } from '../../domain/images.ts';
import type { HostedTool } from '../../domain/items.ts';
import { defineServerTool, type ItemFields, type ServerTool, ToolError } from '../server-tool.ts';
import { imageGenerationArguments, imageGenerationParameters } from './parameters.ts';

/** The settings of an image request, or why there cannot be one. */
export type ImageSettings = { readonly request: Omit<ImageRequest, 'prompt'> } | { readonly issues: readonly Issue[] };

/**
 * Reads the settings of an image model. The model is the one that they name, else the default of the workspace, else the
 * default of the gateway.
 *
 * @returns issues with paths below the settings, such as `size`
 */
export type ReadImageSettings = (settings: Readonly<Record<string, unknown>>, caller: Caller) => ImageSettings;

/** Maximum bytes of one image. Its item contains it twice, as base64. */
const MAX_IMAGE_BYTES = 12 * 1024 * 1024;
/** Maximum bytes of an item: its image, and its prompt. */
const MAX_ITEM_BYTES = 33 * 1024 * 1024;
/** Maximum number of partial images of a call. */
const MAX_PARTIAL_IMAGES = 3;

/** The model reads this instead of the image. It is always the same, so that a replayed call is the same, too. */
const created = { status: 'ok', message: 'The image is complete, and the user sees it. Do not repeat or link it.' };

/**
 * Lets the model create images with an image model of the gateway. The hosted tool `image_generation` is the same tool,
 * for endpoints whose provider has none.
 *
 * @see docs/reference/tools/image-generation.md
 */
export const createImageGeneration = (readSettings: ReadImageSettings): ServerTool =>
  defineServerTool({
    type: 'router:image_generation',
    description:
      'Creates one image from a description and shows it to the user. Use it if the user wants a picture, a drawing, ' +
      'a logo or another image. Do not use it for diagrams or charts that text can express.',
    parameters: imageGenerationParameters,
    arguments: imageGenerationArguments,
    timeoutMs: 300_000,
    maxItemBytes: MAX_ITEM_BYTES,
    check(parameters, caller) {
      const read = caller && readSettings(parameters, caller);
      if (!read || !('issues' in read)) return [];
      return read.issues.map(({ path, message }) => ({ path: `parameters.${path}`, message }));
    },
    item: ({ prompt }) => ({ prompt }),
    writeFailure: (error) => ({ status: 'error', error }),
    async execute({ prompt }, parameters, { caller, request: outer, createImage, emit }) {
      const { partial_images: wanted, ...settings } = parameters;
      const read = readSettings(settings, caller);
      if ('issues' in read) throw new ToolError(read.issues.map(({ message }) => message).join(' '));
      const partials = outer.stream === true ? Math.min(Number(wanted ?? 0), MAX_PARTIAL_IMAGES) : 0;
      const { image, adjustments } = await createImage(
        { ...read.request, ...readOuter(outer, read.request), prompt, ...(partials > 0 && { stream: true }) },
        (bytes, index) => {
          if (index >= partials || bytes.length > MAX_IMAGE_BYTES) return undefined;
          const fields = { partial_image_index: index, partial_image_b64: bytes.toString('base64') };
          return emit([{ type: 'response.image_generation_call.partial_image', ...fields }]);
        },
      );
      return { result: created, item: { prompt, ...writeImage(image) }, adjustments };
    },
    replay({ prompt, error, status }) {
      if (typeof prompt !== 'string' || error !== undefined || status !== 'completed') return undefined;
      return { arguments: { prompt }, result: created };
    },
    native: (_parameters, { carries }, hosted) =>
      hosted && carries?.({ what: 'tool', type: hosted.type }) === true ? hosted : undefined,
    hosted: {
      types: new Set<HostedTool['type']>(['image_generation']),
      itemType: 'image_generation_call',
      itemPrefix: 'img_',
      progress: { started: ['in_progress', 'generating'], completed: ['completed'] },
      readParameters: (tool, caller) => readHosted(tool, caller, readSettings),
      writeFields: ({ imageUrl: _, ...fields }) => ({ result: null, ...fields }),
    },
  });

/** The privacy settings of the request apply to the image, too. */
function readOuter(
  {
    provider: wishes,
    safety_identifier: id,
    user,
  }: { provider?: unknown; safety_identifier?: unknown; user?: unknown },
  { provider: own }: Omit<ImageRequest, 'prompt'>,
): Partial<ImageRequest> {
  const { zdr, data_collection: collection } = (wishes ?? {}) as { zdr?: boolean | null; data_collection?: unknown };
  const endUser = id ?? user;
  return {
    ...(typeof endUser === 'string' && { user: endUser }),
    ...((zdr || collection === 'deny') && {
      provider: { ...own, ...(zdr && { zdr }), ...(collection === 'deny' && { data_collection: 'deny' as const }) },
    }),
  };
}

/** @throws {ToolError} if the image is too large for an item */
function writeImage({ bytes, mediaType }: EncodedImage): ItemFields {
  if (bytes.length > MAX_IMAGE_BYTES) {
    const message = `The image has ${bytes.length} bytes. At most ${MAX_IMAGE_BYTES} are allowed. A smaller \`size\`, or \`output_format\` \`jpeg\`, makes it smaller.`;
    throw new ToolError(message);
  }
  const result = bytes.toString('base64');
  return { imageUrl: `data:${mediaType};base64,${result}`, result };
}

/**
 * Reads the hosted tool, whose model is a name of its vendor.
 *
 * @returns undefined if the gateway has no such model, or cannot apply a setting
 */
function readHosted(
  { type: _, model, partial_images: partials, ...given }: HostedTool,
  caller: Caller,
  readSettings: ReadImageSettings,
): Record<string, unknown> | undefined {
  const settings = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== 'auto'),
  );
  // The tool of the vendor makes PNG by default. An image without a background needs the format by name.
  if (settings['background'] === 'transparent') settings['output_format'] ??= 'png';
  const models = typeof model === 'string' ? [model, `openai/${model}`] : [undefined];
  for (const name of models) {
    const parameters = name === undefined ? settings : { ...settings, model: name };
    if (!('issues' in readSettings(parameters, caller))) {
      return typeof partials === 'number' ? { ...parameters, partial_images: partials } : parameters;
    }
  }
  return undefined;
}
