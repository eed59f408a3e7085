import type { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Attempt } from '../run/attempt.ts';
import { explainMissingPath } from './explain-missing-path.ts';

/**
 * Finds another wire for an endpoint whose server does not have the path of an attempt.
 *
 * @returns the failure, if it has another cause; the failure with the setting to correct, if no other wire is left
 */
export function findOtherWire({ endpoint, wire }: Attempt, failure: GatewayError): MaybePromise<Wire | GatewayError> {
  if (failure.kind !== 'upstream_path_missing') return failure;
  const { provider } = endpoint;
  const explained = explainMissingPath(failure, provider, wire);
  return provider.finder ? provider.finder.findOther(wire).then((other) => other ?? explained) : explained;
}
