import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { imagePriceLinesOf } from '../../metering/image-cost.ts';
import { listSpendingLimits } from '../../metering/list-limits.ts';
import { withReadOnlyStore } from '../open-store.ts';
import { readRoutingContext } from '../read-routing-context.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const subject = 'prices';
/** Maximum number of models that are named. */
const NAMED = 5;

/**
 * Checks whether models without a price bypass the spending limits of the configuration and the store. Returns nothing if
 * there is no limit.
 */
export async function checkPrices(loaded: LoadedConfig): Promise<Finding[]> {
  if (!isLimited(loaded.config) && !(await isLimitedByStore(loaded.config))) return [];
  let endpoints: readonly EndpointFacts[];
  try {
    endpoints = readRoutingContext(loaded, () => {}).catalog.endpoints;
  } catch (error) {
    return [{ status: 'fail', subject, says: readMessage(error) }];
  }
  const models = [...new Set(endpoints.filter(isUnpriced).map(({ model }) => model))];
  if (models.length === 0) return [{ status: 'ok', subject, says: 'every model has a price, so spending limits hold' }];
  const mode = loaded.config.limits.unpriced_models === 'reject' ? 'reject' : 'allow';
  const more = models.length > NAMED ? ` and ${models.length - NAMED} more` : '';
  return [
    {
      status: 'warn',
      subject,
      says: `no price is known for ${models.slice(0, NAMED).join(', ')}${more}: ${effects[mode]}`,
      fix: `Set the pricing of each model, 0 if it is free. Name the models in place of a *.${mode === 'allow' ? ' Or set limits.unpriced_models.' : ''}`,
    },
  ];
}

/** The effect of the setting on requests under a limit. With a price for all models, no model lacks one. */
const effects = {
  allow: 'requests without a price bypass every spending limit',
  reject: 'requests under a spending limit get a 402',
} as const;

function isLimited({ bootstrap, budgets: { organization, member } }: Config): boolean {
  const amounts = [organization, member].flatMap(({ include_byok: _, ...windows }) => Object.values(windows));
  return amounts.some((usd) => usd !== undefined) || bootstrap.keys.some((key) => key.credit_usd !== undefined);
}

/** Whether a key, a workspace, a guardrail or the credits have a limit that the management API or the command line has set. */
async function isLimitedByStore(config: Pick<Config, 'storage' | 'budgets'>): Promise<boolean> {
  try {
    const limits = await withReadOnlyStore(config, ({ access, management }) =>
      listSpendingLimits({ access, management, budgets: config.budgets }),
    );
    return (limits ?? []).length > 0;
  } catch {
    return false; // the store check reports the reason
  }
}

/** If the endpoint generates text, its text price counts, even if its images have a price. */
const isUnpriced = (endpoint: EndpointFacts): boolean =>
  endpoint.generatesText ? endpoint.pricing === undefined : imagePriceLinesOf(endpoint) === undefined;
