import type { Cancellation } from '../../domain/cancellation.ts';
import { ChildCancellation } from '../../domain/child-cancellation.ts';
import { asGatewayError, errorKinds, GatewayError } from '../../domain/errors.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { explainEmpty, readText } from '../inner-model.ts';
import type { ToolCallContext } from '../server-tool.ts';
import { type PanelPiece, PanelReader } from './panel-reader.ts';

/** A page that a model has used. */
export interface FusionSource {
  readonly url: string;
  readonly title: string;
}

/** The response of a model. */
export interface PanelResponse {
  readonly model: string;
  readonly content: string;
  readonly sources: readonly FusionSource[];
}

/** Why a model has not responded. */
export interface ModelFailure {
  readonly model: string;
  readonly error: string;
  readonly status: number | undefined;
  readonly cause: 'credit' | 'rate' | 'model' | 'empty' | 'other';
}

export interface PanelCall {
  readonly model: string;
  readonly request: ResponseRequest;
  readonly timeoutMs: number;
  /** Maximum bytes of the response as JSON. */
  readonly maxBytes: number;
  /** Receives the response while it arrives. */
  show(pieces: readonly PanelPiece[]): MaybePromise<void>;
}

/** Maximum characters of an error. */
const MAX_ERROR_CHARACTERS = 500;

/**
 * Lets a model respond.
 *
 * @throws the reason of the cancellation of the call
 */
export async function callPanelModel(
  { cancellation, respond }: Pick<ToolCallContext, 'cancellation' | 'respond'>,
  { model, request, timeoutMs, maxBytes, show }: PanelCall,
): Promise<PanelResponse | ModelFailure> {
  using own = new ChildCancellation(cancellation, timeoutMs, `${model} did not respond within ${timeoutMs} ms.`);
  const tooLong = new GatewayError('upstream_failed', `The response is longer than ${maxBytes} bytes.`);
  const reader = new PanelReader(maxBytes, show, () => own.cancel(tooLong));
  try {
    const response = await respond(request, (events) => reader.take(events), own);
    if (reader.isTooLong) throw tooLong;
    return readResponse(model, response, own);
  } catch (error) {
    if (cancellation.reason) throw cancellation.reason;
    return describeFailure(model, reader.isTooLong ? tooLong : asGatewayError(error));
  }
}

function readResponse(model: string, response: ResponseObject, own: Cancellation): PanelResponse | ModelFailure {
  if (own.reason) return describeFailure(model, own.reason);
  if (response.status === 'failed') return readFailedResponse(model, response);
  const empty = explainEmpty(response);
  if (empty !== undefined) return { model, error: empty, status: undefined, cause: 'empty' };
  return { model, content: readText(response), sources: response.output.flatMap(listSources) };
}

/** The pages that a message cites, and those that were fetched. */
function listSources({ type, content, url, title, error }: OutputItem): FusionSource[] {
  if (type === 'router:web_fetch' && error === undefined) return readSource({ url, title });
  if (type !== 'message' || !Array.isArray(content)) return [];
  return content.flatMap(({ annotations }: { annotations?: unknown }) =>
    Array.isArray(annotations) ? annotations.filter(isCitation).flatMap(readSource) : [],
  );
}

const isCitation = (annotation: { type?: unknown } | null): boolean => annotation?.type === 'url_citation';

const MAX_URL_CHARACTERS = 1000;
const MAX_TITLE_CHARACTERS = 200;

const readSource = ({ url, title }: { url?: unknown; title?: unknown }): FusionSource[] =>
  typeof url === 'string' && url !== '' && url.length <= MAX_URL_CHARACTERS
    ? [{ url, title: typeof title === 'string' && title !== '' ? title.slice(0, MAX_TITLE_CHARACTERS) : url }]
    : [];

/** A response that failed after its first event has no HTTP status, but a type of error. */
function readFailedResponse(model: string, { error, error_type: type }: ResponseObject): ModelFailure {
  const status = Object.values(errorKinds).find(({ errorType }) => errorType === type && type !== 'server')?.status;
  const message = typeof error?.message === 'string' ? error.message : 'The response failed.';
  return writeFailure(model, message, status ?? 500, causeOf(status));
}

function describeFailure(model: string, error: GatewayError): ModelFailure {
  const { kind, status, message, metadata } = error;
  const isUnknown = kind === 'model_not_found' || kind === 'not_found' || kind === 'model_unavailable';
  const isSpent = metadata['limit_source'] !== undefined && status !== 429;
  return writeFailure(model, message, status, isUnknown ? 'model' : isSpent ? 'credit' : causeOf(status));
}

const causeOf = (status: number | undefined): ModelFailure['cause'] =>
  status === 402 ? 'credit' : status === 429 ? 'rate' : 'other';

const writeFailure = (model: string, message: string, status: number, cause: ModelFailure['cause']): ModelFailure => ({
  model,
  error: message.slice(0, MAX_ERROR_CHARACTERS),
  status,
  cause,
});
