import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../../http/routes.ts';
import { ClientWatch } from '../../http/watch-client.ts';
import { countAtProvider } from '../../pipeline/count-at-provider.ts';
import { createRun } from '../../pipeline/run/create-run.ts';
import { Needs } from '../../routing/needs.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import type { ParsedRequest } from '../../requests/responses/request.ts';
import { renameError, type TextParts } from '../serve-text.ts';
import { acceptMessage } from './accept-message.ts';

/**
 * `POST /messages/count_tokens`: the count of a provider of the same format, or an estimate. It has the rate limits of a
 * request, and costs nothing.
 *
 * @see docs/reference/messages.md#post-messagescount_tokens
 */
export const createCountTokensHandler =
  (parts: TextParts): Route['handler'] =>
  async (request, reply) => {
    reply.header('request-id', request.id);
    const { defaults, presets, reach } = request.caller!; // the route needs a key
    const { read, rename } = acceptMessage(request, {
      sessionId: findSessionHeader(request.headers),
      defaultModel: defaults?.textModel,
      presets,
      modules: parts.modules,
      disabledTools: defaults?.disabledTools,
      reach,
    });
    const { max_output_tokens: _, ...input } = read.request;
    const estimate = new Needs(input).requiredTokens;
    const counted = await count(parts, request, reply, read).catch((error: unknown) => {
      throw renameError(error, rename);
    });
    reply.header('x-router-token-count', counted === undefined ? 'estimate' : 'provider');
    return { input_tokens: counted ?? estimate };
  };

/** @returns undefined if no provider can count it */
async function count(
  parts: TextParts,
  { id, caller, generationId, receivedAt, routeSetting }: FastifyRequest,
  { raw }: FastifyReply,
  read: ParsedRequest,
): Promise<number | undefined> {
  const ticket = await parts.admit(caller!, read.request, generationId);
  const client = new ClientWatch(raw, { ms: parts.requestMs(), setting: 'timeouts.request_ms' });
  const { cancellation } = client;
  const end = parts.open.begin((reason) => cancellation.cancel(reason), 'response');
  try {
    const run = createRun(parts.pipeline, {
      request: read.request,
      caller: caller!,
      origin: {
        requestId: id,
        route: routeSetting.path ?? '',
        receivedAt,
        handledAt: receivedAt,
        traceparent: undefined,
      },
      generationId,
      cancellation,
      metadata: false,
      ignoredFields: read.ignoredFields,
      clamped: read.clamped,
      preset: read.preset,
      modelLimits: ticket,
    });
    return await countAtProvider(parts.pipeline, run);
  } finally {
    client.stop();
    end();
    ticket?.end(0, false);
  }
}
