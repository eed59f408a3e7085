import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Provider } from '../providers/provider.ts';

/**
 * Detects the protocol of servers that may use one of several, and logs the result, so that it is known before the
 * first request. An earlier request, or a server that is unavailable now, is no problem, because `attempt` also detects
 * it.
 */
export async function findWires(providers: readonly Provider[], log: WriteLog): Promise<void> {
  await Promise.all(
    providers.map(async ({ id, baseUrl, finder }) => {
      if (!finder || finder.found) return;
      const found = await finder.find();
      if (found) log('provider wire found', { provider: id, wire: found.id });
      else log('provider wire unknown', { provider: id, base_url: baseUrl });
    }),
  );
}
