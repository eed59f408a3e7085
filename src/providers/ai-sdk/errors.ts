import { GatewayError } from '../../domain/errors.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';

/** The fields of the SDK's `APICallError`. Other errors have fewer. */
interface PackageError {
  name?: string;
  message?: string;
  statusCode?: number;
  responseHeaders?: Record<string, string>;
  responseBody?: string;
  /** A description in `AI_UnsupportedFunctionalityError`, such as `audio content parts`. */
  functionality?: string;
}

/**
 * Reads the error of a package from its HTTP response, if there was one.
 *
 * @param error thrown, or the `error` of a part, which may come from JSON
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
    return new GatewayError(
      'upstream_key_rejected',
      `${provider} is not set up: its package lacks a key or a setting.`,
      {
        retryable: true,
        cause: error,
      },
    );
  }
  if (name === 'AI_UnsupportedFunctionalityError') {
    const what = functionality === undefined ? '' : `: ${functionality.slice(0, 200)}`;
    return new GatewayError('upstream_rejected', `${provider} does not support the request${what}.`, { cause: error });
  }
  return new GatewayError('upstream_failed', `${provider} failed or cannot be reached.`, {
    retryable: true,
    cause: error,
  });
}

const lower = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** @returns undefined if there is no body */
function parse(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
