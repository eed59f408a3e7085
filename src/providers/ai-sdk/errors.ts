import { GatewayError } from '../../domain/errors.ts';
import { readUpstreamError } from '../kit/upstream-error.ts';

/** What the SDK's `APICallError` has; other errors have less. */
interface PackageError {
  name?: string;
  message?: string;
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  /** Of `AI_UnsupportedFunctionalityError`, in words: `audio content parts`. */
  functionality?: string;
}

/**
 * What went wrong in a package, by the HTTP answer behind it where there was one.
 *
 * @param error thrown, or the `error` of a part, which may have been JSON in the meantime
 */
export function readPackageError(error: unknown, provider: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const { statusCode, responseHeaders, responseBody, name, message, functionality } = (error ?? {}) as PackageError;
  if (typeof statusCode === 'number' && statusCode >= 300) {
    return readUpstreamError({
      status: statusCode,
      headers: lower(responseHeaders),
      body: parse(responseBody) ?? { message },
    });
  }
  if (name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError') {
    return new GatewayError('upstream_failed', `${provider} is not set up: its package misses a key or a setting.`, {
      retryable: true,
      cause: error,
    });
  }
  if (name === 'AI_UnsupportedFunctionalityError') {
    const what = functionality === undefined ? '' : `: ${functionality.slice(0, 200)}`;
    return new GatewayError('upstream_rejected', `${provider} cannot do what was asked for${what}.`, { cause: error });
  }
  return new GatewayError('upstream_failed', `${provider} failed or cannot be reached.`, {
    retryable: true,
    cause: error,
  });
}

const lower = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** @returns undefined when there is no body */
function parse(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
