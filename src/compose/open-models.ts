import type { Config } from '../config/schema.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Endpoint } from '../providers/provider.ts';
import type { Health } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import type { PriceRule } from '../routing/filters.ts';
import type { RoutingCaller, RoutingContext } from '../routing/plan-route.ts';
import { readRouterSettings, seededRandom } from '../routing/routing-context.ts';
import { createStrategyTable } from '../routing/strategy-table.ts';
import { buildModels, type ConfiguredModels } from './build-models.ts';
import { createModelDiscovery, type DiscoverModels } from './discover-models.ts';
import { findWires } from './find-wires.ts';
import type { Base } from './open-base.ts';
import { longestRequestMs } from './time-limits.ts';

type LiveContext = RoutingContext<Endpoint> & { catalog: Catalog; health: Health; inFlight: InFlight };

/** The models of the current configuration. */
export interface LiveModels {
  models: () => ConfiguredModels;
  routingContext: () => LiveContext;
  discover: DiscoverModels;
  /** Finds the wires of providers whose configuration names none. Changes nothing if it fails. */
  findWires(): void;
  /**
   * Builds the models of another configuration.
   *
   * @returns what puts them into effect, once that configuration is the current one
   * @throws with a message for the operator if the configuration contradicts itself or names an unknown workspace
   */
  prepareReload(next: Config): Promise<() => void>;
  close(): Promise<void>;
}

/** Opens the models. @throws as `prepareReload` */
export async function openModels(base: Base): Promise<LiveModels> {
  const { config, storage, log, open, accounting, accounts, health, inFlight, sticky } = base;
  const build = async (from: Config, before?: ConfiguredModels): Promise<ConfiguredModels> =>
    buildModels(from, {
      dataDir: base.options.dataDir,
      warn: (detail) => log('catalog file skipped', { detail }),
      before: before?.providers,
      workspaces: await storage.access.listWorkspaces(),
    });
  let models = await build(config());
  const findPriceRule = ({ keyHash, memberId = null, workspaceId }: RoutingCaller): PriceRule => {
    if (keyHash === undefined || config().limits.unpriced_models !== 'reject') return 'none';
    const { spending } = accounts;
    const payers = { keyHash, memberId, workspaceId };
    if (!spending.limits(payers)) return 'none';
    return spending.limitsByok(payers) ? 'all' : 'shared';
  };
  const createContext = (): LiveContext => {
    const { routing, routers } = config();
    return {
      catalog: models.catalog,
      health,
      inFlight,
      sticky,
      strategyOf: createStrategyTable(routing),
      routers: readRouterSettings(routers, accounting.traffic),
      random: routing.seed === undefined ? Math.random : seededRandom(routing.seed),
      priceRule: findPriceRule,
    };
  };
  let context = createContext();
  return {
    models: () => models,
    routingContext: () => context,
    discover: createModelDiscovery(),
    findWires: () => void findWires(models.providers, log),
    async prepareReload(next) {
      const longestMs = longestRequestMs(config());
      const after = await build(next, models);
      return () => {
        const before = models.providers;
        const settled = open.settled(longestMs);
        models = after;
        context = createContext();
        // The old providers close after the requests in flight, which may still use them.
        void findWires(after.providers, log);
        void settled.then(() => Promise.all(before.map((provider) => provider.close(false))));
      };
    },
    async close() {
      await Promise.all(models.providers.map((provider) => provider.close(true)));
    },
  };
}
