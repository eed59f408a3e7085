import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { getTextWire } from '../../providers/text-wire.ts';
import type { UpstreamRequest } from '../../providers/wire.ts';
import { Needs } from '../../routing/needs.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { fitRequest } from './fit-request.ts';
import { inlineUrls, type MediaSource } from './inline-urls.ts';
import { buildRequest, type Run } from '../run/run.ts';

/**
 * Translates the request for the endpoint of an attempt. Keeps no part of it, because the input is parked while a
 * provider works.
 *
 * @returns a promise only if URLs are fetched
 * @throws {GatewayError} if the endpoint does not support the request
 */
export function translateRequest(
  run: Run,
  attempt: TextAttempt,
  media: () => MediaSource,
): MaybePromise<UpstreamRequest> {
  const { endpoint, wire } = attempt;
  const text = getTextWire(wire);
  const { provider, upstreamModel } = endpoint;
  const name = `${endpoint.model} at ${provider.name}`;
  const step = run.steps.at(-1);
  const choice = step?.plan.choiceOf(endpoint);
  const settled = step?.settings ? { ...buildRequest(run), ...step.settings } : buildRequest(run);
  const rewritten = choice?.rewrite ? choice.rewrite(settled) : settled;
  const { request: fitted, changed } = fitRequest(rewritten, endpoint, choice?.isAlias === true);
  const { tools, input } = rewritten;
  attempt.hasLateTools = tools !== undefined && input.some(({ type }) => type === 'additional_tools');
  const translate = (request: ResponseRequest): UpstreamRequest => {
    const written = text.writeRequest(request, {
      endpoint: name,
      upstreamModel,
      stream: run.request.stream === true,
      dialect: provider.dialect,
      ...(run.endUser === undefined ? undefined : { endUser: run.endUser }),
    });
    attempt.droppedFields = changed.length === 0 ? written.dropped : [...changed, ...written.dropped];
    const { inputTokens, images } = new Needs(request);
    attempt.sent = { tokens: inputTokens, images };
    return written;
  };
  return endpoint.needsData ? inlineUrls(run, fitted, name, media()).then(translate) : translate(fitted);
}
