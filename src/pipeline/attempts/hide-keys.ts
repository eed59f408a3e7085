import { GatewayError } from '../../domain/errors.ts';
import type { Provider } from '../../providers/provider.ts';
import { copyError } from '../copy-error.ts';

/** Masks the operator's keys in an error: some providers repeat the key that they reject. */
export function hideKeys(error: unknown, provider: Provider): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { providerCode } = error;
  const message = provider.maskKeys(error.message);
  const code = typeof providerCode === 'string' ? provider.maskKeys(providerCode) : providerCode;
  return message === error.message && code === providerCode
    ? error
    : copyError(error, message, { providerCode: code, cause: undefined });
}
