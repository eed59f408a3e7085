import type { GatewayError } from '../../domain/errors.ts';

/** What our sentence of a provider's error ends with; its own words follow, and may quote the prompt. */
const ownWords = /^([^:]*\(status \d+\)): .*$/s;

/** `insufficient_quota`, 1234; whatever is longer or has spaces is no code. */
const codeShape = /^[\w.:-]{1,64}$/;

/**
 * What the log is told of a failure. Of a provider's only what kind it was, not what it said: its answer may hold the
 * prompt, or the key that it refuses. Of a fault of ours everything.
 */
export function describeFailure(error: GatewayError): { fields: object; message: string } {
  const { kind, status, errorType, providerCode, cause } = error;
  if (kind === 'internal') return { fields: { kind, err: cause ?? error }, message: error.message };
  return {
    fields: {
      kind,
      status,
      error_type: errorType,
      ...(codeShape.test(String(providerCode ?? '')) && { provider_code: providerCode }),
      ...(cause instanceof Error && { cause: nameError(cause) }),
    },
    message: error.message.replace(ownWords, '$1'),
  };
}

/** `TypeError`, or what Node's errors of the network and the file system carry: `ECONNREFUSED`. */
export const nameError = (error: Error & { code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : error.name;
