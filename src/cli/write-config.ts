import type { KnownProvider } from '../config/known-providers.ts';
import type { FoundServer } from '../config/local-servers.ts';
import { docsUrl } from '../domain/docs-url.ts';

/** A provider, and the variable with its key. */
export type ProviderWithKey = KnownProvider & { variable: string };

const header = `# Headgate. Every key, with its default: ${docsUrl('reference/configuration')}
# Any value can come from the environment: \${NAME} in a text, or HEADGATE_<PATH>, as in HEADGATE_SERVER_PORT=9000.
# "headgate doctor" checks this file; a running gateway reloads it when it is saved.

server:
  host: 127.0.0.1                 # 0.0.0.0 to be reached from other machines
  port: 8787
  # public_url: https://models.example.com    # behind a proxy
  # body_limit: 32MiB
  # cors_origins: [https://app.example.com]   # pages that may call the gateway

# storage:
#   url: "postgres://user:password@host/headgate"   # default: SQLite in the data folder

# secrets:
#   master_key: \${HEADGATE_MASTER_KEY}   # default: made at the first start and kept in the data folder

# timeouts: { request_ms: 600000, connect_ms: 5000, first_byte_ms: 120000, idle_ms: 60000, total_ms: 600000 }

providers:
`;

const footer = `
# Applied at every start: for tests, containers and GitOps. Elsewhere "headgate keys create" does it.
# bootstrap:
#   workspaces: [{ name: main }]
#   members: [{ id: ada, workspaces: [main] }]
#   keys:
#     - { key: \${HEADGATE_KEY}, name: app, workspace: main, member: ada }
`;

const simulator = `  # Answers offline, always the same: for a first try. Take it out when you no longer need it.
  - id: simulator
    name: Simulator
    wire: simulator
    models:
      - model: simulator/*
`;

/** Writes a commented file with the findings. It contains names of variables, never their values. */
export function writeConfig(providers: readonly ProviderWithKey[], servers: readonly FoundServer[]): string {
  const entries = [
    ...providers.map((provider) => writeProvider(provider)),
    ...servers.map((server) => writeServer(server)),
    simulator,
  ];
  return header + entries.join('\n') + (providers.length === 0 ? exampleProvider() : '') + footer;
}

function writeProvider({ id, name, variable, baseUrl, wire }: ProviderWithKey): string {
  return `  - id: ${id}                    # ${name}: ${wire} at ${baseUrl}, as the built-in list has it
    api_key: \${${variable}}
    models:
      - model: ${id}/*            # any model of theirs, as ${id}/<its name>
      # - model: ${id}/some-model   # or one by one, with what you pay: USD per token
      #   pricing: { prompt: 0.00000025, completion: 0.000002 }
`;
}

/** Writes names from the network as a comment, without characters that could end its line. */
function writeServer({ id, name, baseUrl, models }: FoundServer): string {
  const shown = models.slice(0, 5).map((model) => `${id}/${model.replaceAll(/[^\w./:@+-]/g, '')}`);
  const more = models.length > 5 ? ` and ${models.length - 5} more` : '';
  return `  - id: ${id}
    name: ${name}
    wire: openai-chat
    base_url: ${baseUrl}
    models:
      - model: ${id}/*            # ${shown.join(', ') || 'it lists no model yet'}${more}
`;
}

function exampleProvider(): string {
  return `
  # - id: openai
  #   wire: openai-responses
  #   base_url: https://api.openai.com/v1
  #   api_key: \${OPENAI_API_KEY}
  #   models:
  #     - model: openai/*
`;
}
