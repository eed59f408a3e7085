import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Provider } from '../providers/provider.ts';

/**
 * Asks the servers that may speak one of several protocols and logs what was found, so that it is known before the first
 * request. A request that comes earlier, or a server that is down now, is no problem: `attempt` asks, too.
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
