import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { imagePriceLinesOf } from '../../metering/image-cost.ts';
import { readRoutingContext } from '../read-routing-context.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const subject = 'prices';
/** Maximum number of models that are named. */
const NAMED = 5;

/**
 * Checks whether models without a price bypass the spending limits of the configuration. Returns nothing if there is no
 * limit.
 */
export function checkPrices(loaded: LoadedConfig): Finding[] {
  if (!isLimited(loaded.config)) return [];
  let endpoints: readonly EndpointFacts[];
  try {
    endpoints = readRoutingContext(loaded, () => {}).catalog.endpoints;
  } catch (error) {
    return [{ status: 'fail', subject, says: readMessage(error) }];
  }
  const models = [...new Set(endpoints.filter(isUnpriced).map(({ model }) => model))];
  if (models.length === 0) return [{ status: 'ok', subject, says: 'every model has a price, so spending limits hold' }];
  const more = models.length > NAMED ? ` and ${models.length - NAMED} more` : '';
  return [
    {
      status: 'warn',
      subject,
      says: `no price is known for ${models.slice(0, NAMED).join(', ')}${more}: requests without a price bypass every spending limit`,
      fix: 'Set the pricing of each model, 0 if it is free. Name the models in place of a *.',
    },
  ];
}

function isLimited({ bootstrap, budgets: { organization, member } }: Config): boolean {
  const amounts = [organization, member].flatMap(({ include_byok: _, ...windows }) => Object.values(windows));
  return amounts.some((usd) => usd !== undefined) || bootstrap.keys.some((key) => key.credit_usd !== undefined);
}

/** If the endpoint generates text, its text price counts, even if its images have a price. */
const isUnpriced = (endpoint: EndpointFacts): boolean =>
  endpoint.generatesText ? endpoint.pricing === undefined : imagePriceLinesOf(endpoint) === undefined;
