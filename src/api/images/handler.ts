import type { FastifyReply, FastifyRequest } from 'fastify';
import { ImageResponse } from '../../http/image-response.ts';
import type { Route } from '../../http/routes.ts';
import type { ResponseHeaders } from '../../http/sse.ts';
import { createImage } from '../../pipeline/create-image.ts';
import type { ImagePipeline } from '../../pipeline/image-pipeline.ts';
import { createImageRun } from '../../pipeline/run/create-run.ts';
import type { ImageRun } from '../../pipeline/run/image-run.ts';
import { lastAttemptOf } from '../../pipeline/run/step.ts';
import { readImageRequest } from '../../requests/images/request.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import { type AcceptedRequest, type RunResponse, type ServeRunParts, serveRun } from '../serve-run.ts';

export interface ImagesParts extends ServeRunParts {
  pipeline: ImagePipeline;
  /** Deadlines in milliseconds, buffered and streamed. */
  requestMs: () => number;
  streamMs: () => number;
  keepAliveMs: () => number;
}

/** `POST /images`. @see docs/reference/images.md */
export function createImagesHandler(parts: ImagesParts): Route['handler'] {
  const { pipeline } = parts;

  function accept(request: FastifyRequest, reply: FastifyReply): AcceptedRequest<ImageRun> {
    const read = readImageRequest(request.body, {
      sessionId: findSessionHeader(request.headers),
      defaultModel: request.caller!.defaults?.imageModel,
    });
    const { request: asked, ignoredFields } = read;
    request.body = undefined; // `asked` has the references, which are large
    request.rawBody = undefined;
    const stream = asked.stream === true;
    return {
      settings: { model: asked.model, stream },
      deadline: stream
        ? { ms: parts.streamMs(), setting: 'images.stream_ms' }
        : { ms: parts.requestMs(), setting: 'images.request_ms' },
      ignoredFields,
      clamped: [],
      modelDefault: read.hasDefaultModel ? 'default_image_model' : undefined,
      createRun: (origin) => createImageRun(pipeline, asked, origin),
      respond: (run, headers) => respond(run, reply, { headers, stream }),
    };
  }

  function respond(
    run: ImageRun,
    reply: FastifyReply,
    { headers, stream }: { headers: () => ResponseHeaders; stream: boolean },
  ): RunResponse {
    const images = new ImageResponse(reply.raw, {
      headers,
      keepAliveMs: stream ? parts.keepAliveMs() : 0,
      mayStream: () => stream && lastAttemptOf(run)?.endpoint.image?.streams === true,
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

  return (request, reply) => serveRun(parts, request, reply, () => accept(request, reply));
}
