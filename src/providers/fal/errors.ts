import type { GatewayError } from '../../domain/errors.ts';
import type { UpstreamErrorResponse } from '../wire.ts';
import { readUpstreamError, readUpstreamErrorObject } from '../errors/upstream-error.ts';

/**
 * Reads an error. A model returns a list in `detail` whose items have a `type`. The queue returns `{detail,
 * error_type}` and repeats the type in a header.
 */
export function readError(answer: UpstreamErrorResponse): GatewayError {
  const { body, status } = answer;
  const detail = findDetail(body);
  if (isRefusal(detail)) return readUpstreamError({ ...answer, status: 400, body: refusal(detail) });
  // The provider sends 403 for a locked account.
  return readUpstreamError(status === 403 ? { ...answer, status: 402 } : answer);
}

/** Reads the error of a response of status 200 that reports how a request ended. */
export function readErrorObject(body: object): GatewayError {
  const { error, error_type: type } = body as { error?: unknown; error_type?: unknown }; // checked below
  const detail = findDetail(body) ?? findDetail(error) ?? (typeof error === 'string' ? error : undefined);
  if (isRefusal(detail) || type === 'content_policy_violation') return readUpstreamErrorObject(refusal(detail), 400);
  return readUpstreamErrorObject({ detail, ...(typeof type === 'string' && { type }) }, statusOf(type));
}

/** Returns the usual status of an error type. */
function statusOf(type: unknown): number {
  if (type === 'request_timeout' || type === 'startup_timeout') return 504;
  if (type === 'runner_scheduling_failure') return 503;
  return 502;
}

type Detail = { type?: unknown; msg?: unknown }[] | string;

function findDetail(body: unknown): Detail | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { detail } = body as { detail?: unknown }; // checked below
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return undefined;
  return detail.filter((each) => typeof each === 'object' && each !== null);
}

const isRefusal = (detail: Detail | undefined): boolean =>
  Array.isArray(detail) && detail.some(({ type }) => type === 'content_policy_violation');

const refusal = (detail: Detail | undefined) => ({ detail, code: 'content_policy_violation' });
