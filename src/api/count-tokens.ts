import type { FastifyReply, FastifyRequest } from 'fastify';
import { writeRateHeaders } from '../http/rate-headers.ts';
import type { Route } from '../http/routes.ts';
import { ClientWatch } from '../http/watch-client.ts';
import { countAtProvider } from '../pipeline/count-at-provider.ts';
import { createRun } from '../pipeline/run/create-run.ts';
import { Needs } from '../routing/needs.ts';
import { noGeneration } from './count-request.ts';
import { type AcceptedText, readHints, renameError, type TextApi, type TextParts } from './serve-text.ts';

/** An API that counts the tokens of the bodies of its texts. */
export interface CountApi {
  /** Checks a body. @throws {GatewayError} if the body is invalid */
  accept: (...given: Parameters<TextApi>) => Pick<AcceptedText, 'read' | 'rename' | 'writeRates'>;
  write: (tokens: number) => object;
}

/**
 * Creates the handler that counts the tokens of an input: the count of a provider whose protocol has such a call, or an
 * estimate. It has the rate limits of a request, and costs nothing.
 *
 * @see docs/reference/messages.md#post-messagescount_tokens, docs/reference/responses.md#post-responsesinput_tokens
 */
export const createCountHandler =
  (parts: TextParts, { accept, write }: CountApi): Route['handler'] =>
  async (request, reply) => {
    const accepted = accept(request, readHints(parts, request));
    const { read, rename } = accepted;
    const { max_output_tokens: _, ...input } = read.request;
    const estimate = new Needs(input).requiredTokens;
    const counted = await count(parts, request, reply, accepted).catch((error: unknown) => {
      throw rename ? renameError(error, rename) : error;
    });
    reply.header('x-router-token-count', counted === undefined ? 'estimate' : 'provider');
    return write(counted ?? estimate);
  };

/** @returns undefined if no provider can count it */
async function count(
  parts: TextParts,
  { id, caller, generationId, receivedAt, routeSetting }: FastifyRequest,
  reply: FastifyReply,
  { read, writeRates = writeRateHeaders }: Pick<AcceptedText, 'read' | 'writeRates'>,
): Promise<number | undefined> {
  const { model, models } = read.request;
  const ticket = await parts.admit(caller!, { ...noGeneration, model, models }, generationId);
  if (ticket) reply.headers(writeRates(ticket.rests));
  const client = new ClientWatch(reply.raw, { ms: parts.requestMs(), setting: 'timeouts.request_ms' });
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
