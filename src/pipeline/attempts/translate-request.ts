import { TRIGGER } from '../../domain/compaction.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { CheckedText, JsonOutputFormat } from '../../domain/json-format.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { findOptionsProblem, mergeOptions, type ProviderOptions } from '../../domain/provider-options.ts';
import { refuseReach } from '../../domain/reach.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { settingsOf } from '../../providers/provider.ts';
import { withLessons } from '../../providers/rules/lessons.ts';
import { asksForStream } from '../../providers/rules/asks-for-stream.ts';
import { getTextWire } from '../../providers/text-wire.ts';
import type { UpstreamRequest } from '../../providers/wire.ts';
import { Needs } from '../../routing/needs.ts';
import { matchesEndpoint } from '../../routing/preferences.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { requestSummary } from '../compaction/request-summary.ts';
import { fitToWire, mayReason, withoutProviderTools } from './fit-to-wire.ts';
import { forEndpoint, forIntern, inlineUrls, type MediaSource, noMediaSource } from './inline-urls.ts';
import { losesFormat } from './judge-format.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import { inspectNew } from '../run/inspect-input.ts';
import { buildRequest, type Run } from '../run/run.ts';
import { adaptRequest } from '../run/run-plugins.ts';

/**
 * Translates the request for the endpoint of an attempt. Keeps no part of it, because the input is parked while a
 * provider works.
 *
 * @returns a promise only if URLs are fetched or a plugin waits
 * @throws {GatewayError} if the endpoint does not support the request
 */
export function translateRequest(
  run: Run,
  attempt: TextAttempt,
  {
    media = () => noMediaSource,
    tools,
    inspectors,
    checkFormat,
  }: Pick<ResponsePipeline, 'media' | 'tools' | 'inspectors' | 'checkFormat'>,
): MaybePromise<UpstreamRequest> {
  const { reach } = run.caller;
  const endpoint = reach ? withoutProviderTools(attempt.endpoint) : attempt.endpoint;
  const step = run.steps.at(-1);
  const choice = step?.plan.choiceOf(attempt.endpoint);
  const isAlias = choice?.isAlias === true;
  const built = buildRequest(run);
  const replayed = tools && new Needs(built).hasServerItems ? tools.replay(run, built.input, endpoint) : undefined;
  if (replayed) built.input = replayed.input;
  const shown = step?.settings ? { ...built, ...step.settings } : built;
  const settled = run.toolLoop ? run.toolLoop.adapt(shown, endpoint) : shown;
  const rewritten = choice?.rewrite ? choice.rewrite(settled) : settled;
  const write = (request: ResponseRequest) =>
    writeFitted(run, attempt, { request, isAlias, lost: replayed?.dropped ?? nothing }, { media, checkFormat });
  if (!run.activePlugins) return write(rewritten);
  const adapted = adaptRequest(run, run.activePlugins, rewritten, endpoint);
  const inspect = (request: ResponseRequest): MaybePromise<UpstreamRequest> => {
    const { input } = request;
    if (input === rewritten.input) return write(request);
    return inspectNew(run, inspectors, rewritten.input, input).then((inspected) =>
      write({ ...request, input: inspected }),
    );
  };
  return adapted instanceof Promise ? adapted.then(inspect) : inspect(adapted);
}

/** A request that the tools and the plugins have changed for an endpoint. */
interface AdaptedRequest {
  request: ResponseRequest;
  isAlias: boolean;
  /** Paths of what the change has lost. */
  lost: readonly string[];
}

const nothing: readonly string[] = [];
const trigger = { what: 'item', type: TRIGGER } as const;

/**
 * Adds the fields that the client sends to this provider as they are. With `ai-sdk`, they are the `providerOptions` of the package.
 *
 * @throws {GatewayError} `invalid_request` if the gateway writes one of them, `permission_denied` for an intern
 */
function addOptions(body: Record<string, unknown>, run: Run, { endpoint, wire }: TextAttempt): void {
  const options = run.request.provider?.['options'] as ProviderOptions | null | undefined; // validated by the schema
  if (!options) return;
  if (run.caller.reach) throw refuseReach('provider.options', 'cannot be sent with the key of an intern.');
  const problem = findOptionsProblem(options); // also those of presets
  if (problem) throw new GatewayError('invalid_request', `provider.options.${problem.path}: ${problem.message}.`);
  for (const [name, fields] of Object.entries(options)) {
    if (!matchesEndpoint(name.toLowerCase(), endpoint)) continue;
    mergeOptions(body, wire.id === 'ai-sdk' ? { providerOptions: fields } : fields);
  }
}

/** Returns the function that checks a text of a run. */
const bindFormat =
  (run: Run, format: JsonOutputFormat, check: NonNullable<ResponsePipeline['checkFormat']>) =>
  (text: string): Promise<CheckedText> =>
    check(run, text, format);

/** Fits a request to the endpoint and writes it. */
function writeFitted(
  run: Run,
  attempt: TextAttempt,
  { request: given, isAlias, lost }: AdaptedRequest,
  { media, checkFormat }: { media: () => MediaSource; checkFormat: ResponsePipeline['checkFormat'] },
): MaybePromise<UpstreamRequest> {
  const { endpoint, wire } = attempt;
  const { reach } = run.caller;
  const text = getTextWire(wire);
  const { provider, upstreamModel, rulesOf } = endpoint;
  const name = `${endpoint.model} at ${provider.name}`;
  attempt.writesSummary = run.compacts && (reach !== undefined || !text.carries?.(trigger, settingsOf(endpoint, wire)));
  const summarized = attempt.writesSummary ? requestSummary(given) : given;
  const { request: fitted, changed, search } = fitToWire(summarized, endpoint, reach ? undefined : wire.id, isAlias);
  const { tools, input } = fitted;
  attempt.hasLateTools = tools !== undefined && input.some(({ type }) => type === 'additional_tools');
  const keepsReasoning = run.returnsReasoning || run.toolLoop !== undefined;
  const translate = (request: ResponseRequest): UpstreamRequest => {
    const dialect = withLessons(settingsOf(endpoint, wire), attempt.lessons);
    attempt.isStreamed = asksForStream(dialect, request, run.request.stream === true);
    const written = text.writeRequest(request, {
      endpoint: name,
      upstreamModel,
      ...(rulesOf === undefined ? undefined : { rulesOf }),
      stream: attempt.isStreamed,
      dialect,
      ...(run.endUser === undefined ? undefined : { endUser: run.endUser }),
      ...(run.account === undefined ? undefined : { account: run.account }),
      ...(run.session === undefined ? undefined : { session: run.session }),
      ...(keepsReasoning && mayReason(endpoint, request) ? { sealsReasoning: true } : undefined),
      ...(run.request.native?.format === 'anthropic-messages' ? { showsSources: true } : undefined),
      ...(run.onlyOfferedCalls ? { onlyOfferedCalls: true } : undefined),
    });
    addOptions(written.body, run, attempt);
    attempt.droppedFields = [...lost, ...changed, ...written.dropped]; // without the spare capacity of a list that grew
    const { format } = request.text ?? {};
    if (checkFormat && format && format.type !== 'text' && !run.request.stream && losesFormat(attempt.droppedFields)) {
      attempt.checkFormat = bindFormat(run, format, checkFormat);
    }
    if (search !== undefined) written.restore = { ...written.restore, search };
    attempt.sentFields = Object.keys(written.body);
    if (written.adapted) attempt.adapted = written.adapted;
    const { inputTokens, images } = new Needs(request);
    attempt.sent = { tokens: inputTokens, images };
    return written;
  };
  if (!endpoint.needsData && !reach) return translate(fitted);
  return inlineUrls(run, fitted, reach ? forIntern : forEndpoint(name), media()).then(translate);
}
