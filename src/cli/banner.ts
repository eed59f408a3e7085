import { resolve } from 'node:path';
import type { LoadedConfig } from '../config/load.ts';
import { listEndpoints } from './list-endpoints.ts';
import { colorize, type Terminal } from './terminal.ts';
import { version } from './version.ts';

/** Maximum number of providers that are named. */
const MAX_NAMED = 8;

/** Writes the startup text: the address, the data folder, the providers with their models, and next steps. */
export const writeBanner = (terminal: Painted, loaded: LoadedConfig, url: string): string =>
  `${colorize(terminal, 'bold', `Headgate ${version}`)} is up: ${url}\n${writeFacts(terminal, loaded, url)}`;

/**
 * Writes the same text for a gateway that is already running.
 *
 * @param state whether it accepts requests
 */
export const writeStatus = (
  terminal: Painted,
  loaded: LoadedConfig,
  { url, version: running, state, holder }: { url: string; version: string; state: string; holder: string },
): string =>
  `${colorize(terminal, 'bold', `Headgate ${running}`)} is already running (${holder}): ${url}\n` +
  writeFacts(terminal, loaded, url, { State: state });

type Painted = Pick<Terminal, 'env' | 'stdout'>;

function writeFacts(
  terminal: Painted,
  loaded: LoadedConfig,
  url: string,
  first: Readonly<Record<string, string>> = {},
): string {
  const { config, dataDir, file } = loaded;
  const publicUrl = (config.server.public_url ?? url).replace(/\/$/, '');
  const rows = {
    ...first,
    'Base URL': `${publicUrl}/api/v1`,
    Data: resolve(dataDir),
    Config: file ?? 'no file, so the defaults',
    Providers: listProviders(loaded),
    Next: `${suggestNext(loaded)} (in a clone, "headgate" is "npm run -s headgate --")`,
  };
  return Object.entries(rows)
    .map(([name, text]) => `  ${colorize(terminal, 'dim', name.padEnd(9))}  ${text}\n`)
    .join('');
}

/** `openai (12 models and openai/*), simulator (9 models)`. */
function listProviders(loaded: LoadedConfig): string {
  const { config } = loaded;
  const models = Map.groupBy(listEndpoints(loaded), ({ provider }) => provider.id);
  const named = config.providers.slice(0, MAX_NAMED).map(({ id }) => {
    const slugs = [...new Set((models.get(id) ?? []).map(({ model }) => model))];
    const known = slugs.filter((slug) => !slug.includes('*'));
    const count = known.length === 1 ? '1 model' : `${known.length} models`;
    const patterns = slugs.filter((slug) => slug.includes('*'));
    return `${id} (${[...(known.length > 0 || patterns.length === 0 ? [count] : []), ...patterns].join(' and ')})`;
  });
  const more = config.providers.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ') || 'none';
}

function suggestNext({ config }: LoadedConfig): string {
  const isSimulated = config.providers.every(({ wire }) => wire === 'simulator');
  return isSimulated
    ? 'add a provider: set its key, such as OPENAI_API_KEY, or run "headgate init"'
    : '"headgate models" lists the models, "headgate requests" the requests; "headgate doctor --probe" checks the providers';
}
