import { findCheapest, listRows } from '../../routing/model-rows.ts';
import { type Catalog, createCatalog } from '../../catalog/catalog.ts';
import { describeModel, readRecordPrices } from '../../catalog/describe-model.ts';
import { loadCatalogRecords } from '../../catalog/load-catalog.ts';
import type { CatalogRecords } from '../../catalog/records.ts';
import { buildEndpoints } from '../../compose/build-endpoints.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { EndpointFacts, Pricing } from '../../domain/endpoint.ts';
import { writePerPiece } from '../../metering/price.ts';
import { listAliases } from '../../routing/routing-context.ts';
import { drawTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';

export interface ListModelsOptions {
  /** Also models of the catalog that the configuration cannot serve. */
  all?: boolean;
  json?: boolean;
}

/** A line of the list. */
interface Line {
  id: string;
  name: string;
  contextLength: number | undefined;
  /** The price of the cheapest endpoint. */
  pricing: Pricing | undefined;
  providers: string[];
  /** The model behind an alias. */
  target?: string;
}

/**
 * Prints the models that the configuration can serve, sorted by slug, as a table or as a JSON list. A slug with a star
 * represents all names that a provider passes on. Contacts no provider.
 *
 * @param query texts that must all be in the slug, the name or the providers; absent: every model
 */
export async function listModels(
  terminal: Terminal,
  { config, dataDir }: LoadedConfig,
  query: string | undefined,
  { all = false, json = false }: ListModelsOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  const { builtin, overrides } = config.catalog;
  const records = loadCatalogRecords({ builtin, overrides, dataDir }, (message) => stderr.write(`${message}\n`));
  const { models, endpoints, providers } = buildEndpoints(config, records);
  await Promise.all(providers.map((provider) => provider.close(true)));

  const lines = new Map<string, Line>();
  for (const [slug, served] of Map.groupBy(endpoints, ({ model }) => model.toLowerCase())) {
    const model = models.get(slug);
    if (!model?.hidden) lines.set(slug, lineOf(slug, model?.name ?? slug, model?.contextLength, served));
  }
  for (const line of listOthers(config, createCatalog(endpoints, models, records))) lines.set(line.id, line);
  if (all) for (const line of listKnown(records)) if (!lines.has(line.id)) lines.set(line.id, line);

  const words = (query ?? '').toLowerCase().split(/\s+/);
  const found = [...lines.values()]
    .filter((line) => {
      const text = [line.id, line.name, ...line.providers].join('\n').toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  if (json) stdout.write(`${JSON.stringify(found.map(writeLine), undefined, 2)}\n`);
  else if (found.length > 0) stdout.write(drawTable(terminal, columns, found.map(writeCells)));
  else stdout.write(all ? 'No model matches.\n' : 'No model matches. "--all" searches the whole catalog.\n');
}

/** Returns the slugs that represent other models: routers, and aliases of the newest model of a family. */
function listOthers({ routers }: LoadedConfig['config'], catalog: Catalog): Line[] {
  return listRows(catalog, listAliases(routers.latest), () => true).flatMap(
    ({ model: { id, name }, isRouter, aliasTarget, contextLength, top, endpoints }) =>
      isRouter || aliasTarget
        ? [
            {
              id,
              name,
              contextLength,
              pricing: top?.pricing,
              providers: [...new Set(endpoints.map(({ provider }) => provider.id))],
              ...(aliasTarget && { target: aliasTarget.slug }),
            },
          ]
        : [],
  );
}

type Served = Pick<EndpointFacts, 'pricing' | 'tier' | 'contextLength'> & { provider: { id: string } };

function lineOf(id: string, name: string, known: number | undefined, served: readonly Served[]): Line {
  const contexts = served.flatMap(({ contextLength = known }) => contextLength ?? []);
  return {
    id,
    name,
    contextLength: contexts.length === 0 ? known : Math.max(...contexts),
    pricing: findCheapest(served)?.pricing,
    providers: [...new Set(served.map(({ provider }) => provider.id))],
  };
}

function listKnown({ models, endpoints }: CatalogRecords): Line[] {
  const byModel = Map.groupBy(endpoints.values(), ({ model }) => model);
  return [...models.values()].flatMap((record) => {
    const { id, name, contextLength, hidden } = describeModel(record);
    const served = (byModel.get(id) ?? []).map((row) => ({
      pricing: readRecordPrices(row),
      tier: row.tier,
      contextLength: row.context_length,
      provider: { id: row.provider },
    }));
    return hidden ? [] : [lineOf(id, name, contextLength, served)];
  });
}

/** USD per million tokens; a price per million is nano-dollars, too. */
const writeUsd = (nanoUsdPerMillion: number | undefined): string =>
  nanoUsdPerMillion === undefined ? '-' : writePerPiece(nanoUsdPerMillion);

const columns = [
  { title: 'MODEL' },
  { title: 'CONTEXT', isNumber: true },
  { title: 'IN $/M', isNumber: true },
  { title: 'OUT $/M', isNumber: true },
  { title: 'PROVIDERS', canWrap: true },
];

const writeCells = ({ id, contextLength, pricing, providers }: Line): string[] => [
  id,
  contextLength?.toLocaleString('en-US') ?? '-',
  writeUsd(pricing?.promptNanoUsdPerMillion),
  writeUsd(pricing?.completionNanoUsdPerMillion),
  providers.join(', ') || '-',
];

const writeLine = ({ id, name, contextLength, pricing, providers, target }: Line) => ({
  id,
  name,
  context_length: contextLength ?? null,
  usd_per_million: pricing
    ? {
        prompt: Number(writeUsd(pricing.promptNanoUsdPerMillion)),
        completion: Number(writeUsd(pricing.completionNanoUsdPerMillion)),
      }
    : null,
  providers,
  ...(target === undefined ? undefined : { stands_for: target }),
});
