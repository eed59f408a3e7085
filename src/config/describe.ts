// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { readFileSync, writeFileSync } from 'node:fs';
import { nameType, rootNode, type SchemaNode } from './schema-node.ts';

/** The page that `describeConfig` writes. */
export const pageUrl = new URL('../../docs/reference/configuration.md', import.meta.url);
/** The example on that page. */
export const exampleUrl = new URL('example.yaml', import.meta.url);

const about: Record<string, string> = {
  server: 'Addresses and limits of the server.',
  storage: 'The store of keys, workspaces, members and the ledger.',
  ledger:
    'Durability of the ledger, and its exports. Guides: [operating](../guides/operating.md#when-something-fails), [exports](../guides/exports.md).',
  counters: 'Counters of limits and budgets. Guide: [limits](../guides/limits.md).',
  budgets:
    'Spending limits of the organization and of members. Keys and workspaces have their own. Guide: [limits](../guides/limits.md).',
  alerts: 'Alerts and their webhooks. Guide: [alerts](../guides/alerts.md).',
  secrets: 'The master key.',
  log: 'The log. Guide: [observability](../guides/observability.md#log).',
  telemetry:
    'Traces. Metrics are at `GET /metrics`, see `server.metrics`. Guide: [observability](../guides/observability.md).',
  io_logging:
    'Stored inputs and outputs of workspaces that turn it on. It is off by default. Guide: [observability](../guides/observability.md#inputs-and-outputs).',
  files: 'Stored files of workspaces. Guide: [files](../guides/files.md#store-files).',
  outbound: 'Fetching of URLs that callers name. Guide: [outbound](../guides/outbound.md).',
  guardrails: 'Parts of content filters that all guardrails share. Reference: [content filters](guardrails.md).',
  tools:
    'Search engines, sandboxes, and server tools of your own. Guides: [web search](../guides/web-search.md), [server tools](../guides/server-tools.md), [sandboxes](../guides/sandbox.md).',
  mcp: 'MCP servers whose tools models may call. Guide: [MCP](../guides/mcp.md).',
  retry:
    'Retries at the same endpoint. A provider may override each setting. Guide: [routing](../guides/routing.md#retries).',
  timeouts: 'Timeouts in milliseconds. A provider may override all except `request_ms` and `receive_ms`.',
  embeddings:
    'Limits of `POST /embeddings` and `POST /rerank`. Reference: [embeddings](embeddings.md), [rerank](rerank.md).',
  images: 'Limits of `POST /images`. Guide: [images](../guides/images.md).',
  providers:
    'Providers and their models. A provider has a wire, a URL, keys and models: its endpoints. Guide: [providers](../guides/providers.md).',
  catalog: 'Sources of models and prices. Guide: [routing](../guides/routing.md#the-catalog).',
  routers: 'Settings of the routers. Guide: [routing](../guides/routing.md#routers).',
  limits: 'Default rate limits. Guide: [limits](../guides/limits.md#rates).',
  routing: 'Order of endpoints. Guide: [routing](../guides/routing.md#strategies).',
  bootstrap:
    'Workspaces, members, keys and guardrails to create or update at every start and reload. Idempotent. Other records are not changed.',
};

/** Returns the reference page. */
export function describeConfig(): string {
  const sections = Object.entries(rootNode.properties ?? {}).map(([key, node]) =>
    [`## ${key}`, '', about[key] ?? node.description ?? '', '', ...describeSection(key, node)].join('\n'),
  );
  return `${[intro(), ...sections].join('\n\n')}\n`;
}

/** A list of texts has no settings of its own. */
function describeSection(key: string, node: SchemaNode): string[] {
  if (node.items && !node.items.properties)
    return [`A ${nameType(node)}. Default: \`${JSON.stringify(node.default)}\`.`];
  return table(node.items ?? node, node.items ? `${key}[].` : `${key}.`);
}

function intro(): string {
  return `# Configuration

<!-- Generated from src/config/schema.ts by \`npm run docs\`. Edit the schema, not this page. -->

Headgate reads one YAML or JSON file: \`--config FILE\`, or \`HEADGATE_CONFIG\`, or \`headgate.yaml\` in the working directory.
Without a file, it uses the defaults and the simulator. \`headgate init\` writes a commented file. \`headgate doctor\` checks it.

\`\`\`yaml
${readFileSync(exampleUrl, 'utf8').trimEnd()}
\`\`\`

## Precedence

Flags override the environment, the environment overrides the file, and the file overrides the defaults. The result is fixed
until a reload.

- **\`\${NAME}\`** in any string of the file is replaced by the environment variable NAME. An unset variable is an error.
  \`\${NAME:-default}\` has a default for a variable that is unset or empty, and \`\${NAME:?message}\` a message. Numbers, booleans (\`true\`,
  \`yes\`, \`on\`, \`1\`) and lists of strings (separated by commas) may use it as well. \`$\${\` is a literal \`\${\`.
- **Anchors** of YAML have a place in keys of the top level that begin with \`x-\`, which the gateway ignores.
- **Secrets** lose the white space around them, such as the line end of a mounted file, and the quotes that
  \`docker run --env-file\` keeps. A secret in quotes is a warning.
- **\`HEADGATE_<PATH>\`** overrides any value. The path is in capitals with \`_\` between its keys, and list entries are indexes:
  \`HEADGATE_SERVER_PORT=9000\`, \`HEADGATE_TIMEOUTS_FIRST_BYTE_MS=60000\`, \`HEADGATE_PROVIDERS_0_API_KEY=…\`. Mappings and lists of
  mappings are JSON or YAML: \`HEADGATE_PROVIDERS='[{"id":…}]'\`. In \`headers\`, \`_\` means \`-\`. An empty variable counts as not
  set, and a line break at its end is cut. An override that matches no key is a warning at start.
- **Short names**: \`DATABASE_URL\` is \`storage.url\`, \`REDIS_URL\` or \`VALKEY_URL\` is \`counters.url\`, \`HEADGATE_MASTER_KEY\` is \`secrets.master_key\`,
  \`OTEL_SERVICE_NAME\` is \`telemetry.service_name\`,
  \`HEADGATE_DATA\` is \`--data\` (the data folder, by default \`data\` in the working directory), \`HEADGATE_CONFIG\` is \`--config\`.
- **Flags** of \`headgate start\`: \`--port\`, \`--host\`, \`--workers\`, \`--data\` and \`--config\`.

An unknown key is an error that suggests the nearest known one. The gateway reports all errors at once, each with file, line and
path. No message contains a secret.

## Reload

\`SIGHUP\` or a changed file reloads the configuration. An invalid file changes nothing, and the log says why. Keys marked *restart*
keep their value until the next start, and the log lists them. All others apply at once to new requests.`;
}

function table(node: SchemaNode, path: string): string[] {
  return ['| Key | Type | Default | Description |', '|---|---|---|---|', ...rows(node, path)];
}

function rows(node: SchemaNode, path: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, property]) => {
    const here = path + key;
    const isList = property.items?.properties !== undefined;
    const description = [property.description ?? '', property.restart ? '*restart*' : ''].filter(Boolean).join(' ');
    const needed = node.required?.includes(key) && property.default === undefined && !property.properties;
    const fallback =
      property.default === undefined ? (needed ? 'required' : '') : `\`${JSON.stringify(property.default)}\``;
    const own = `| \`${here}\` | ${isList ? 'list' : nameType(property)} | ${fallback} | ${description} |`;
    if (isList && property.items) return [own, ...rows(property.items, `${here}[].`)];
    const [entry] = Object.values(property.patternProperties ?? {});
    if (entry?.properties) return [own, ...rows(entry, `${here}.<name>.`)];
    return property.properties ? rows(property, `${here}.`) : [own];
  });
}

if (import.meta.main) writeFileSync(pageUrl, describeConfig());
