import sharp from 'sharp';
import type { TestGateway } from '../../src/testing/index.ts';
import type { RequestOptions } from '../../src/testing/test-gateway.ts';

/** The result of one `POST /images`, buffered or streamed. */
export interface ImageOutcome {
  status: number;
  headers: Headers;
  /** Parsed, if it is JSON. */
  body: ImageBody;
  /** The events of a stream. */
  events: ImageEvent[];
  /** Whether the stream ended with `[DONE]`. */
  done: boolean;
  text: string;
}

export interface ImageBody {
  created?: number;
  data?: { b64_json: string; media_type?: string }[];
  usage?: Record<string, unknown>;
  error?: { code: number; message: string; metadata: Record<string, unknown>; availability?: { code: string } };
  router_metadata?: Record<string, unknown>;
}

export interface ImageEvent {
  type: string;
  b64_json?: string;
  partial_image_index?: number;
  text?: string;
  phase?: string;
  created?: number;
  media_type?: string;
  usage?: Record<string, unknown>;
  error?: { message: string; code: string; type: string; param: string | null };
}

/** Requests images, by default from the simulator, and reads the complete result. */
export async function draw(gateway: TestGateway, body: object, options?: RequestOptions): Promise<ImageOutcome> {
  const asked = { model: 'simulator/image', prompt: 'A red fox', ...body };
  return readImages(await gateway.post('/images', asked, options));
}

export async function readImages(answer: Response): Promise<ImageOutcome> {
  const text = await answer.text();
  const { status, headers } = answer;
  if (!headers.get('content-type')?.startsWith('text/event-stream')) {
    return { status, headers, body: JSON.parse(text) as ImageBody, events: [], done: false, text };
  }
  const data = text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length));
  const done = data.at(-1) === '[DONE]';
  const events = data.filter((each) => each !== '[DONE]').map((each) => JSON.parse(each) as ImageEvent);
  return { status, headers, body: {}, events, done, text };
}

/** Decodes an image. */
export async function look(
  base64: string | undefined,
): Promise<{ format: string; width: number; height: number; alpha: boolean }> {
  const { format, width, height, hasAlpha } = await sharp(Buffer.from(base64 ?? '', 'base64')).metadata();
  return { format, width, height, alpha: hasAlpha };
}

/** Creates an image of one color. */
export async function paint(
  size: { width: number; height: number },
  format: 'png' | 'jpeg' | 'webp' | 'gif' = 'png',
): Promise<Buffer> {
  const { width, height } = size;
  return sharp({ create: { width, height, channels: 3, background: '#c22' } })
    [format]()
    .toBuffer();
}

export const dataUrl = (bytes: Buffer, type = 'image/png'): string => `data:${type};base64,${bytes.toString('base64')}`;
export const reference = (url: string) => ({ type: 'image_url', image_url: { url } });

/** Writes the response of the images API of a provider. */
export const answerWith = (images: readonly Buffer[], usage?: object) => ({
  created: 1_795_252_364,
  data: images.map((image) => ({ b64_json: image.toString('base64') })),
  ...(usage && { usage }),
});

export const gptUsage = {
  total_tokens: 1070,
  input_tokens: 14,
  output_tokens: 1056,
  input_tokens_details: { text_tokens: 14, image_tokens: 0 },
};
