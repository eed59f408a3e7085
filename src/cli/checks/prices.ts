import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { imagePriceLinesOf } from '../../metering/image-cost.ts';
import { readRoutingContext } from '../read-routing-context.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const subject = 'prices';
/** Models that are named; of the rest their number is told. */
const NAMED = 5;

/**
 * Does the configuration limit what may be spent, and is there a model that passes each such limit since nobody knows its
 * price? Nothing is said where there is no limit.
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
  if (models.length === 0) return [{ status: 'ok', subject, says: 'every model has one, so that limits hold' }];
  const more = models.length > NAMED ? ` and ${models.length - NAMED} more` : '';
  return [
    {
      status: 'warn',
      subject,
      says: `no price is known of ${models.slice(0, NAMED).join(', ')}${more}: what costs an unknown sum passes every spending limit`,
      mend: 'Write its pricing, 0 where it costs nothing; in place of a * name the models.',
    },
  ];
}

function isLimited({ bootstrap, budgets: { organization, member } }: Config): boolean {
  const amounts = [organization, member].flatMap(({ include_byok: _, ...windows }) => Object.values(windows));
  return amounts.some((usd) => usd !== undefined) || bootstrap.keys.some((key) => key.credit_usd !== undefined);
}

/** Of one that writes and draws its words count: pictures alone may have a price. */
const isUnpriced = (endpoint: EndpointFacts): boolean =>
  endpoint.generatesText ? endpoint.pricing === undefined : imagePriceLinesOf(endpoint) === undefined;
