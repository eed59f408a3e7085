import type { GatewayError } from '../../domain/errors.ts';
import { copyError } from '../copy-error.ts';
import type { Attempt } from '../run/attempt.ts';

/** Adds the setting to correct to the error of a path that the server does not have. @param path of the interface */
export function explainMissingRoute(failure: GatewayError, { endpoint, wire }: Attempt, path: string): GatewayError {
  if (failure.kind !== 'upstream_path_missing') return failure;
  const { id } = endpoint.provider;
  const end = /[.!?]$/.test(failure.message) ? '' : '.';
  const advice = `Correct base_url or wire of the provider ${id}: the wire ${wire.id} serves POST ${path} with a path that the server does not have.`;
  return copyError(failure, `${failure.message}${end} ${advice}`);
}
