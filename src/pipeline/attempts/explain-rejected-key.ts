import { GatewayError } from '../../domain/errors.ts';
import type { Provider } from '../../providers/provider.ts';
import { copyError } from '../copy-error.ts';

/** Names the provider that rejects the key of the gateway, and the setting to correct. */
export function explainRejectedKey(error: unknown, { id, name }: Provider): unknown {
  if (!(error instanceof GatewayError) || error.kind !== 'upstream_key_rejected') return error;
  const rename = (message: string): string => message.replace(/^The provider\b/, name);
  const end = /[.!?]$/.test(error.message) ? '' : '.';
  return copyError(error, `${rename(error.message)}${end} The operator must correct api_key of the provider ${id}.`, {
    loggedMessage: error.loggedMessage && rename(error.loggedMessage),
  });
}
