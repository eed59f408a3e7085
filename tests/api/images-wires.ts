import { type ScriptedResponse, bytes, json, recording, sse } from '../../src/testing/scripted-responses.ts';
import type { Script, ScriptedRequest, ScriptedUpstream } from '../../src/testing/scripted-upstream.ts';
import { startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { expectImageShape } from './image-shapes.ts';
import { draw, type ImageOutcome } from './images-lab.ts';
import { type Mode, providerKey } from './lab.ts';

/** The responses of a server of a wire. */
export interface ImageWireCase {
  /** The name at the provider of the tested model. */
  model: string;
  /** Whether it sends partial images. */
  streams: boolean;
  /** Whether it generates several images at once. */
  many: boolean;
  dialect?: object;
  /** The output of the model, if its wire generates text, too. */
  output?: readonly string[];
  /** Folder of the recordings, below that of the wire. */
  recordings?: string;
  /** Responds to each request of an exchange that generates these images. */
  makes(pictures: readonly Buffer[]): Script;
  /** Returns the prompt of the image request. */
  promptOf(request: ScriptedRequest): unknown;
  /** Case → name of a recording. */
  errors: Record<'badKey' | 'badRequest' | 'moderated' | 'rateLimited' | 'serverError', string>;
}

/** The response with an image that was fetched by its address. */
const picture = (content: Buffer): ScriptedResponse => bytes(content, { headers: { 'content-type': 'image/png' } });
const originOf = ({ headers }: ScriptedRequest): string => `http://${headers.host}`;
const fieldOf = ({ body }: ScriptedRequest, name: string): unknown => (body as Record<string, unknown>)[name];

/** Every wire that generates images and has an upstream. */
export const imageWires = {
  'openai-images': {
    model: 'gpt-image-1',
    streams: true,
    many: true,
    makes: (pictures) => (request) => {
      const usage = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };
      const images = pictures.map((each) => ({ b64_json: each.toString('base64') }));
      if (fieldOf(request, 'stream') !== true) return json({ created: 1, data: images, usage });
      const partial = { type: 'image_generation.partial_image', partial_image_index: 0, ...images[0] };
      return sse([partial, ...images.map((image) => ({ type: 'image_generation.completed', ...image, usage }))]);
    },
    promptOf: (request) => fieldOf(request, 'prompt'),
    errors: {
      badKey: 'bad-key.http',
      badRequest: 'bad-request.http',
      moderated: 'moderation.http',
      rateLimited: 'rate-limited.http',
      serverError: 'server-error.http',
    },
  },
  bfl: {
    model: 'flux-2-pro',
    streams: false,
    many: false,
    dialect: { poll_ms: 50 },
    makes: ([made]) => {
      let asked = 0;
      return (request) => {
        if (request.method === 'POST') {
          return json({ id: 'task-1', polling_url: `${originOf(request)}/v1/get_result?id=task-1`, cost: 3 });
        }
        if (request.path.startsWith('/made/')) return picture(made!);
        if (++asked % 2 === 1) return json({ id: 'task-1', status: 'Pending', result: null });
        const sample = `${originOf(request)}/made/sample.png?sig=1`;
        return json({ id: 'task-1', status: 'Ready', result: { sample, seed: 7 }, cost: 3 });
      };
    },
    promptOf: (request) => fieldOf(request, 'prompt'),
    errors: {
      badKey: 'bad-key.http',
      badRequest: 'bad-request.http',
      moderated: 'request-moderated.whole.http',
      rateLimited: 'rate-limited.http',
      serverError: 'server-error.http',
    },
  },
  recraft: {
    model: 'recraftv3',
    streams: false,
    many: true,
    makes: (pictures) => () =>
      json({ created: 1, credits: 40, data: pictures.map((each) => ({ b64_json: each.toString('base64') })) }),
    promptOf: (request) => fieldOf(request, 'prompt'),
    errors: {
      badKey: 'bad-key.http',
      badRequest: 'bad-request.http',
      moderated: 'moderation.http',
      rateLimited: 'rate-limited.http',
      serverError: 'server-error.http',
    },
  },
  gemini: {
    model: 'gemini-3-pro-image',
    streams: true,
    many: false,
    output: ['text', 'image'],
    recordings: 'images/recordings',
    makes: ([made]) => {
      const part = { inlineData: { mimeType: 'image/png', data: made!.toString('base64') } };
      const answer = (parts: object[], more?: object) => ({
        candidates: [{ content: { parts, role: 'model' }, ...more }],
      });
      const usageMetadata = {
        promptTokenCount: 9,
        candidatesTokenCount: 1120,
        thoughtsTokenCount: 200,
        totalTokenCount: 1329,
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1120 }],
      };
      const finished = { ...answer([part], { finishReason: 'STOP' }), usageMetadata };
      return ({ path }) =>
        path.includes(':streamGenerateContent')
          ? sse([answer([{ ...part, thought: true }]), finished])
          : json(finished);
    },
    promptOf: (request) =>
      (fieldOf(request, 'contents') as { parts: { text?: string }[] }[])[0]!.parts.find(({ text }) => text)!.text,
    errors: {
      badKey: '../../recordings/bad-key.http',
      badRequest: 'bad-ratio.http',
      moderated: 'prompt-blocked.whole.http',
      rateLimited: 'quota.http',
      serverError: '../../recordings/internal.http',
    },
  },
  'openai-chat': {
    model: 'google/gemini-3-pro-image',
    streams: false,
    many: false,
    output: ['text', 'image'],
    recordings: 'images/recordings',
    makes: ([made]) => {
      const url = `data:image/png;base64,${made!.toString('base64')}`;
      const message = {
        role: 'assistant',
        content: 'Here you are.',
        images: [{ type: 'image_url', image_url: { url } }],
      };
      const usage = { prompt_tokens: 9, completion_tokens: 1130, total_tokens: 1139 };
      return json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
    },
    promptOf: (request) => {
      const [{ content }] = fieldOf(request, 'messages') as [{ content: string | { text?: string }[] }];
      return typeof content === 'string' ? content : content[0]!.text;
    },
    errors: {
      badKey: '../../recordings/bad-key.http',
      badRequest: '../../recordings/bad-request.http',
      moderated: 'filtered.whole.http',
      rateLimited: 'rate-limited.http',
      serverError: '../../recordings/gateway-page.http',
    },
  },
  fal: {
    model: 'fal-ai/flux-2/edit',
    streams: false,
    many: true,
    dialect: { poll_ms: 50 },
    makes: (pictures) => {
      let asked = 0;
      return (request) => {
        const place = `${originOf(request)}/v1/fal-ai/flux-2/requests/r-1`;
        const urls = { request_id: 'r-1', status_url: `${place}/status`, response_url: place };
        if (request.method === 'POST') return json({ status: 'IN_QUEUE', queue_position: 0, ...urls });
        const [, number] = /^\/made\/(\d)/.exec(request.path) ?? [];
        if (number !== undefined) return picture(pictures[Number(number)]!);
        if (request.path.endsWith('/status')) {
          const isDone = ++asked % 2 === 0;
          return json({ status: isDone ? 'COMPLETED' : 'IN_PROGRESS', ...urls }, { status: isDone ? 200 : 202 });
        }
        const images = pictures.map((_, index) => ({ url: `${originOf(request)}/made/${index}.png` }));
        return json({ images, seed: 1, has_nsfw_concepts: pictures.map(() => false) });
      };
    },
    promptOf: (request) => fieldOf(request, 'prompt'),
    errors: {
      badKey: 'bad-key.http',
      badRequest: 'bad-request.http',
      moderated: 'content-policy.http',
      rateLimited: 'rate-limited.http',
      serverError: 'server-error.http',
    },
  },
} satisfies Record<string, ImageWireCase>;

export type ImageWireName = keyof typeof imageWires;
export const imageWireNames = Object.keys(imageWires) as ImageWireName[];
export const modes: Mode[] = ['buffered', 'streamed'];
export const imageCases = imageWireNames.flatMap((wire) => modes.map((mode) => ({ wire, mode })));

export const caseOf = (wire: ImageWireName): ImageWireCase => imageWires[wire];

/** A recorded response of the wire. */
export const recorded = (wire: ImageWireName, file: string): ScriptedResponse =>
  recording(new URL(`../../src/providers/${wire}/${caseOf(wire).recordings ?? 'recordings'}/${file}`, import.meta.url));

export interface ImageLab {
  gateway: TestGateway;
  /** The server behind the providers. */
  upstream: ScriptedUpstream;
  /** The server of the second endpoint of `<wire>/two`, which speaks the images API of OpenAI. */
  other: ScriptedUpstream;
  /** Also checks each response against the schema of the interface. */
  ask(
    how: { wire: ImageWireName | 'simulator'; mode: Mode },
    body?: object,
    signal?: AbortSignal,
  ): Promise<ImageOutcome>;
  close(): Promise<void>;
}

/** A tenth of a dollar per image. */
const pricing = [{ billable: 'output_image', unit: 'image', cost_usd: 0.1 }];

/** The lower price of the other endpoint. */
const cheaper = [{ billable: 'output_image', unit: 'image', cost_usd: 0.05 }];

/** A gateway with, for each wire, the models `<wire>/one` and `<wire>/two`; the second has another endpoint behind it. */
export async function openImageLab(parts: Record<string, unknown> = {}): Promise<ImageLab> {
  const [upstream, other] = await Promise.all([startUpstream(), startUpstream()]);
  const providers = imageWireNames.map((wire) => {
    const { model, dialect, output } = caseOf(wire);
    return {
      id: wire,
      name: `The ${wire}`,
      wire,
      base_url: upstream.url,
      api_key: providerKey,
      ...(dialect && { dialect }),
      models: ['one', 'two'].map((name) => ({
        model: `${wire}/${name}`,
        upstream_model: model,
        image: { pricing },
        ...(output && { capabilities: { output } }),
      })),
    };
  });
  const last = {
    id: 'last',
    wire: 'openai-images',
    base_url: other.url,
    api_key: 'another-key-12345',
    models: imageWireNames.map((wire) => ({ model: `${wire}/two`, upstream_model: 'm', image: { pricing: cheaper } })),
  };
  const simulator = { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/image' }] };
  const gateway = await testGateway({ providers: [...providers, last, simulator], ...parts }, undefined, {
    gatherMs: 10,
  });
  return {
    gateway,
    upstream,
    other,
    async ask({ wire, mode }, body = {}, signal) {
      const stream = mode === 'streamed' && { stream: true };
      const outcome = await draw(gateway, { model: `${wire}/one`, ...stream, ...body }, signal && { signal });
      if (outcome.status === 200 && outcome.events.length === 0)
        expectImageShape('ImageGenerationResponse', outcome.body);
      for (const event of outcome.events) expectImageShape('ImageStreamEvent', event);
      return outcome;
    },
    async close() {
      await gateway.close();
      await Promise.all([upstream.close(), other.close()]);
    },
  };
}

/** Returns the finished images, buffered or streamed. */
export const imagesOf = ({ body, events }: ImageOutcome): { b64_json: string; media_type?: string }[] =>
  body.data ??
  events
    .filter(({ type }) => type === 'image_generation.completed')
    .map(({ b64_json = '', media_type }) => ({ b64_json, ...(media_type !== undefined && { media_type }) }));

/** Returns the usage, buffered or streamed. */
export const usageOf = ({ body, events }: ImageOutcome): Record<string, unknown> | undefined =>
  body.usage ?? events.at(-1)?.usage;

/** Returns the error, buffered or streamed. */
export function failureOf({ status, body, events }: ImageOutcome) {
  const { error } = events.at(-1) ?? {};
  if (error) return { status: Number(error.code), type: error.type, message: error.message };
  return { status, type: body.error?.metadata['error_type'], message: body.error?.message ?? '' };
}
