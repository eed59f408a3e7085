import {
  aspectRatios,
  backgrounds,
  type EndpointImageRequest,
  type ImageChunk,
  type ImageFacts,
  type ImageFormat,
  imageFormats,
  type PixelSize,
  pixelsOf,
  qualities,
  resolutions,
} from '../../domain/images.ts';
import { special, usage } from '../../domain/usage.ts';
import { defineImageWire, type ImageUpstreamRequest } from '../image-wire.ts';
import { decodeImage } from '../kit/image-text.ts';
import type { Frame, Target } from '../wire.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import { countTokens } from './conversation.ts';
import { type Drawing, drawSvg, encodeDrawing } from './draw.ts';
import { readError, createErrorResponse } from './errors.ts';
import { readScript, type ScriptTurn } from './language.ts';
import { models } from './models.ts';
import { pause } from './pause.ts';

const TOKENS_OF_IMAGE = 256;
const TOKENS_OF_REFERENCE = 64;
/** Number of partial images in a stream. */
const PARTIALS = 3;

/** The request for a drawing. */
interface DrawRequest extends Pick<EndpointImageRequest, 'prompt' | 'count' | 'references'> {
  model: string;
  size: PixelSize;
  format: ImageFormat;
  compression: number | undefined;
  isTransparent: boolean;
  seed: number;
  stream: boolean;
}

/** One message of the response. Images are base64. */
type Message =
  | { type: 'begin'; model: string }
  | { type: 'partial'; index: number; image: string }
  | { type: 'text'; text: string }
  | { type: 'image'; image: string }
  | { type: 'error'; status: number; message: string }
  | { type: 'end'; usage: { input: number; images: number; output: number } | null };

const facts: ImageFacts = {
  parameters: {
    n: { type: 'range', min: 1, max: 10 },
    aspect_ratio: { type: 'enum', values: [...aspectRatios] },
    resolution: { type: 'enum', values: [...resolutions] },
    size: { type: 'range', min: 16, max: 4096 },
    quality: { type: 'enum', values: [...qualities] },
    output_format: { type: 'enum', values: [...imageFormats] },
    output_compression: { type: 'range', min: 0, max: 100 },
    background: { type: 'enum', values: [...backgrounds] },
    input_references: { type: 'range', min: 0, max: 16 },
    seed: { type: 'boolean' },
  },
  passthrough: ['caption'],
  streams: true,
  pricing: undefined,
};

/**
 * Draws real images of exactly the requested size. The same request returns the same pixels. Directives in the prompt make it slow or fail.
 *
 * @see docs/reference/simulator.md
 */
export const simulatorImages = defineImageWire<undefined>({
  facts,
  writeRequest: writeImageRequest,
  createReader: () => ({ read: ({ data }) => readMessage(JSON.parse(data) as Message), end: () => [] }),
  readWhole: (body) => (body as Message[]).flatMap(readMessage), // written by `drawImages`
  send: drawImages,
});

function writeImageRequest(wanted: EndpointImageRequest, target: Target): ImageUpstreamRequest<undefined> {
  const { passthrough } = wanted;
  const request: DrawRequest = {
    model: target.upstreamModel.replace(/^simulator\//, ''), // the name in an entry without `upstream_model`
    prompt: typeof passthrough['caption'] === 'string' ? passthrough['caption'] : wanted.prompt,
    count: wanted.count,
    references: wanted.references,
    size: wanted.size ?? pixelsOf(wanted.aspectRatio, wanted.resolution),
    format: wanted.format ?? 'png',
    compression: wanted.compression,
    isTransparent: wanted.background === 'transparent',
    seed: wanted.seed ?? 0,
    stream: target.stream,
  };
  return {
    path: '/images',
    body: { ...request },
    dropped: wanted.quality === undefined ? [] : ['quality'],
    readerContext: undefined,
  };
}

function readMessage(message: Message): ImageChunk[] {
  switch (message.type) {
    case 'begin':
      return [{ type: 'start', model: message.model }];
    case 'partial':
      return [{ type: 'partial', index: message.index, bytes: decodeImage(message.image) }];
    case 'text':
      return [{ type: 'text', text: message.text, phase: 'content' }];
    case 'image':
      return [{ type: 'image', bytes: decodeImage(message.image) }];
    case 'error':
      throw readUpstreamErrorObject(message, message.status);
    case 'end': {
      if (!message.usage) return [{ type: 'finish' }];
      const { input, images, output } = message.usage;
      const counts = special({ inputImageTokens: images, outputImageTokens: output });
      const used = usage({ inputTokens: input, outputTokens: output, ...(counts && { special: counts }) });
      return [{ type: 'finish', usage: used }];
    }
  }
}

/**
 * Responds like a provider behind HTTP.
 *
 * @throws {GatewayError} before the first batch, instead of an HTTP error status (an unknown model, `[[fail …]]`)
 * @throws the reason of the signal when it fires
 */
async function* drawImages(request: ImageUpstreamRequest<undefined>, signal: AbortSignal): AsyncGenerator<Frame[]> {
  signal.throwIfAborted();
  const drawRequest = request.body as unknown as DrawRequest; // written by `writeImageRequest`
  if (!Object.hasOwn(models, drawRequest.model) || !models[drawRequest.model]!.draws) {
    throw readError(
      createErrorResponse(404, `The simulator has no model ${JSON.stringify(drawRequest.model)} that draws.`),
    );
  }
  const { text, turns } = readScript(drawRequest.prompt);
  const turn = turns[0]!; // there is always one
  if (turn.waitMs) await pause(turn.waitMs, signal);
  if (turn.failure) {
    const { status, message, retryAfterSeconds } = turn.failure;
    throw readError(createErrorResponse(status, message, retryAfterSeconds));
  }
  for await (const message of pace(draw(drawRequest, text, turn), turn, signal))
    yield [{ event: '', data: JSON.stringify(message) }];
}

/** Yields the messages slowly, or ends after a number of images, including partial ones, as the directives request. */
async function* pace(messages: AsyncIterable<Message>, turn: ScriptTurn, signal: AbortSignal): AsyncGenerator<Message> {
  let images = 0;
  for await (const message of messages) {
    signal.throwIfAborted();
    const isImage = message.type === 'partial' || message.type === 'image';
    if (turn.break && (message.type === 'end' || (isImage && images >= turn.break.after))) {
      const { how, status, message: words } = turn.break;
      if (how === 'break') yield { type: 'error', status, message: words };
      if (how === 'stall') await pause(undefined, signal);
      return;
    }
    if (isImage) images++;
    yield message;
    if (isImage && turn.slowMs !== undefined) await pause(turn.slowMs, signal);
  }
}

async function* draw(request: DrawRequest, words: string, turn: ScriptTurn): AsyncGenerator<Message> {
  yield { type: 'begin', model: request.model };
  for (let index = 0; index < request.count; index++) {
    const { size, isTransparent, seed, format, compression } = request;
    const drawing: Drawing = { words, size, isTransparent, seed: `${words}|${seed}|${index}`, share: 1 };
    if (request.stream && format === 'svg') yield { type: 'text', text: drawSvg(drawing) };
    else if (request.stream) {
      for (let partial = 0; partial < PARTIALS; partial++) {
        const image = await encodeDrawing({ ...drawing, share: (partial + 1) / (PARTIALS + 1) }, format, compression);
        yield { type: 'partial', index: partial, image };
      }
    }
    yield { type: 'image', image: await encodeDrawing(drawing, format, compression) };
  }
  yield { type: 'end', usage: turn.usage === null ? null : countUsage(request, turn) };
}

function countUsage({ prompt, references, count }: DrawRequest, turn: ScriptTurn) {
  const images = references.length * TOKENS_OF_REFERENCE;
  const counted = { input: countTokens(prompt.length) + images, output: count * TOKENS_OF_IMAGE };
  const { input, output } = { ...counted, ...turn.usage };
  return { input, images: Math.min(images, input), output };
}
