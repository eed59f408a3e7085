import { GatewayError } from '../../domain/errors.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Provider } from '../../providers/provider.ts';
import { explainMissingPath } from './explain-missing-path.ts';

/**
 * Makes an exchange by the wire of a provider; if its server turns out not to have the path, by the wire that it has.
 *
 * @throws what the exchange throws
 */
export async function exchangeByWire(provider: Provider, exchange: (wire: Wire) => Promise<void>): Promise<void> {
  const { wire, finder } = provider;
  try {
    await exchange(wire);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.kind !== 'upstream_path_missing') throw error;
    const other = await finder?.findOther(wire);
    if (!other) throw explainMissingPath(error, provider, wire);
    await exchange(other);
  }
}
