// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { readFileSync, writeFileSync } from 'node:fs';
import { unsupportedSettings } from './unsupported-settings.ts';
import { nameType, rootNode, type SchemaNode } from './schema-node.ts';

/** The page that `describeConfig` writes. */
export const pageUrl = new URL('../../docs/reference/configuration.md', import.meta.url);
/** Section 3 of the design, as far as this build offers it. */
export const exampleUrl = new URL('example.yaml', import.meta.url);

const about: Record<string, string> = {
  server: 'Where the gateway listens and what it takes.',
  storage: 'Where keys, workspaces, members and the ledger are kept.',
  ledger: 'How safely responses are recorded. Guide: [operating](../guides/operating.md#when-something-fails).',
  counters:
    'Where limits and budgets are counted, and what holds when that does not answer. Guide: [limits](../guides/limits.md).',
  budgets: 'What may be spent; keys and workspaces have limits of their own. Guide: [limits](../guides/limits.md).',
  secrets: 'What protects the rest.',
  log: 'What is logged.',
  telemetry:
    'Traces. Metrics are at `GET /metrics`, see `server.metrics`. Guide: [observability](../guides/observability.md).',
  io_logging:
    'Inputs and outputs, for workspaces that turn it on; none does by itself. Guide: [observability](../guides/observability.md#inputs-and-outputs).',
  outbound: 'What the gateway may fetch when a caller names an address. Guide: [outbound](../guides/outbound.md).',
  retry:
    'When a request is sent to the same endpoint again. A provider may override each setting. Guide: [routing](../guides/routing.md#retries).',
  timeouts: 'How long things may take, in milliseconds. A provider may override all but `request_ms`.',
  images: 'Limits of `POST /images`. Guide: [images](../guides/images.md).',
  providers: 'Where models are. A provider names a wire, an address, keys, and its models: the endpoints.',
  bootstrap:
    'What must be there. Applied at every start and reload, and idempotent; the rest of the store is left alone.',
};

/** The reference page: generated, so that it cannot say what the schema does not. */
export function describeConfig(): string {
  const sections = Object.entries(rootNode.properties ?? {}).map(([key, node]) =>
    [`## ${key}`, '', about[key] ?? '', '', ...table(node.items ?? node, node.items ? `${key}[].` : `${key}.`)].join(
      '\n',
    ),
  );
  return `${[intro(), ...sections, refusals()].join('\n\n')}\n`;
}

function intro(): string {
  return `# Configuration

<!-- Generated from src/config/schema.ts by \`npm run docs\`. Edit the schema, not this page. -->

One YAML (or JSON) file: \`--config FILE\`, or \`HEADGATE_CONFIG\`, or \`headgate.yaml\` in the working directory. Without one the
defaults hold, and the simulator answers. \`headgate init\` writes a commented one; \`headgate doctor\` checks it.

\`\`\`yaml
${readFileSync(exampleUrl, 'utf8').trimEnd()}
\`\`\`

## How a value comes about

Defaults, then the file, then the environment, then flags; each over the ones before. The result is fixed until a reload.

- **\`\${NAME}\`** in any string of the file is the environment variable NAME; one that is not set is an error. \`$\${\` is \`\${\`
  itself. What the schema wants as a number, a switch or a list of strings (with commas) may come this way.
- **\`HEADGATE_<PATH>\`** overrides any value: the path in capitals with \`_\` between its keys, list entries by index.
  \`HEADGATE_SERVER_PORT=9000\`, \`HEADGATE_TIMEOUTS_FIRST_BYTE_MS=60000\`, \`HEADGATE_PROVIDERS_0_API_KEY=…\`. Mappings and lists of
  mappings are written as JSON or YAML: \`HEADGATE_PROVIDERS='[{"id":…}]'\`. In \`headers\` a \`_\` stands for \`-\`. An empty variable
  counts as not set. One that begins like an override and matches no key is a warning at the start.
- **Short names**: \`DATABASE_URL\` is \`storage.url\`, \`VALKEY_URL\` is \`counters.url\`, \`HEADGATE_MASTER_KEY\` is \`secrets.master_key\`,
  \`HEADGATE_DATA\` is \`--data\` (the data folder, by default \`data\` in the working directory), \`HEADGATE_CONFIG\` is \`--config\`.
- **Flags** of \`headgate start\`: \`--port\`, \`--host\`, \`--workers\`, beside \`--data\` and \`--config\`.

Unknown keys are errors that name the nearest known one. All problems are told at once, each with file, line and path; no message
shows a secret.

## Reload

\`SIGHUP\`, or a saved file with another text, reloads the configuration. A bad one changes nothing, and the log says why. Keys marked
*restart* below keep their value until the next start, and the log says so; all others change at once, for requests that begin
after it.`;
}

function table(node: SchemaNode, path: string): string[] {
  return ['| Key | Type | Default | What it says |', '|---|---|---|---|', ...rows(node, path)];
}

function rows(node: SchemaNode, path: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, property]) => {
    const here = path + key;
    const isList = property.items?.properties !== undefined;
    const description = [property.description ?? '', property.restart ? '*restart*' : ''].filter(Boolean).join(' ');
    const needed = node.required?.includes(key) && property.default === undefined && !property.properties;
    const fallback =
      property.default === undefined ? (needed ? 'needed' : '') : `\`${JSON.stringify(property.default)}\``;
    const own = `| \`${here}\` | ${isList ? 'list' : nameType(property)} | ${fallback} | ${description} |`;
    if (isList && property.items) return [own, ...rows(property.items, `${here}[].`)];
    return property.properties ? rows(property, `${here}.`) : [own];
  });
}

function refusals(): string {
  const lines = unsupportedSettings.map(({ path, says }) => `- \`${path.join('.').replaceAll('.*', '[]')}\`: ${says}`);
  return `## Known, not offered

The configuration of Headgate knows these, this build does not offer them; a file that has one is refused with a message that says so.

${lines.join('\n')}`;
}

if (import.meta.main) writeFileSync(pageUrl, describeConfig());
