import type { GatewayError } from '../../domain/errors.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Provider } from '../../providers/provider.ts';
import { copyError } from '../copy-error.ts';

/** Adds the setting to correct to the error of a path that the server does not have. */
export function explainMissingPath(error: GatewayError, { id, finder }: Provider, { id: wire, text }: Wire) {
  const probePath = text?.probePath;
  const end = /[.!?]$/.test(error.message) ? '' : '.';
  const asks = probePath === undefined ? `its wire is ${wire}` : `${wire} asks for ${probePath}`;
  const advice = finder
    ? `The server has neither /responses nor /chat/completions there: correct base_url of the provider ${id}, which often ends in /v1.`
    : `Correct base_url or wire of the provider ${id}: ${asks}.`;
  const find =
    probePath === undefined || finder ? '' : ' With "wire: openai" the gateway finds out what the server has.';
  return copyError(error, `${error.message}${end} ${advice}${find}`);
}
