import type { FastifyReply, FastifyRequest } from 'fastify';
import { ImageResponse } from '../../http/image-response.ts';
import type { Route } from '../../http/routes.ts';
import type { ResponseHeaders } from '../../http/sse.ts';
import { estimateImageTokens } from '../../pipeline/accounting/reserved-tokens.ts';
import { createImage } from '../../pipeline/create-image.ts';
import type { ImagePipeline } from '../../pipeline/image-pipeline.ts';
import { createImageRun } from '../../pipeline/run/create-run.ts';
import type { ImageRun } from '../../pipeline/run/image-run.ts';
import { lastAttemptOf } from '../../pipeline/run/step.ts';
import type { ImageShape } from '../../http/image-shape.ts';
import { readImageRequest } from '../../requests/images/request.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import { ownShape } from './own-shape.ts';
import { type AcceptedRequest, type RunResponse, type ServeRunParts, serveRun } from '../serve-run.ts';

export interface ImagesParts extends ServeRunParts {
  pipeline: ImagePipeline;
  /** Deadlines in milliseconds, buffered and streamed. */
  requestMs: () => number;
  streamMs: () => number;
  keepAliveMs: () => number;
}

/** An API of images: how it reads a body, and writes the images. */
export interface ImageApi {
  /** @returns the body as one of `POST /images`. @throws {GatewayError} if it is invalid */
  read: (request: FastifyRequest, body: unknown) => { body: unknown; shape: ImageShape };
  /** Whether a requested stream is one, also if its endpoint does not stream. Clients of OpenAI parse nothing else. */
  alwaysStreams: boolean;
  /** Reads a body that is no JSON. */
  readForm?: (request: FastifyRequest) => Promise<unknown>;
}

const ownApi: ImageApi = { read: (_request, body) => ({ body, shape: ownShape }), alwaysStreams: false };

/** `POST /images`. @see docs/reference/images.md */
export function createImagesHandler(parts: ImagesParts, api = ownApi): Route['handler'] {
  const { pipeline } = parts;

  function accept(request: FastifyRequest, reply: FastifyReply, given: unknown): AcceptedRequest<ImageRun> {
    const { body, shape } = api.read(request, given);
    const read = readImageRequest(body, {
      sessionId: findSessionHeader(request.headers),
      defaultModel: request.caller!.defaults?.imageModel,
    });
    const { request: asked, ignoredFields } = read;
    request.body = undefined; // `asked` has the references, which are large
    request.rawBody = undefined;
    const stream = asked.stream === true;
    return {
      settings: { model: asked.model, stream },
      estimateTokens: () => estimateImageTokens(asked),
      deadline: stream
        ? { ms: parts.streamMs(), setting: 'images.stream_ms' }
        : { ms: parts.requestMs(), setting: 'images.request_ms' },
      ignoredFields,
      clamped: [],
      modelDefault: read.hasDefaultModel ? 'default_image_model' : undefined,
      createRun: (origin) => createImageRun(pipeline, asked, origin),
      respond: (run, headers) => respond(run, reply, { headers, stream, shape }),
    };
  }

  function respond(
    run: ImageRun,
    reply: FastifyReply,
    { headers, stream, shape }: { headers: () => ResponseHeaders; stream: boolean; shape: ImageShape },
  ): RunResponse {
    const images = new ImageResponse(reply.raw, {
      headers,
      keepAliveMs: stream ? parts.keepAliveMs() : 0,
      mayStream: () => stream && (api.alwaysStreams || lastAttemptOf(run)?.endpoint.image?.streams === true),
      shape,
    });
    return {
      run: () => createImage(pipeline, run, images),
      async end() {
        await images.end();
        return undefined;
      },
      stream: {
        hasBegun: () => images.begun,
        fail: (error) => images.fail(error),
        close() {
          images.stop();
          lastAttemptOf(run)?.memory.free();
        },
      },
    };
  }

  return async (request, reply) => {
    const form = request.body === undefined && api.readForm ? await api.readForm(request) : undefined;
    return serveRun(parts, request, reply, () => accept(request, reply, form ?? request.body));
  };
}
