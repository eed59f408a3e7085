import { type Static, Type } from 'typebox';
import { alertsSection } from './schema/alerts.ts';
import { bootstrapSection, budgetsSection, limitsSection } from './schema/access.ts';
import { embeddingSettings } from './schema/embeddings.ts';
import { filesSection } from './schema/files.ts';
import { imagesSection } from './schema/images.ts';
import { internsSection } from './schema/interns.ts';
import { ioLoggingSection, logSection, telemetrySection } from './schema/log.ts';
import { mcpSection } from './schema/mcp.ts';
import { guardrailsSection, outboundSection } from './schema/outbound.ts';
import { pluginsSection } from './schema/plugins.ts';
import { providerSection } from './schema/providers.ts';
import { catalogSection, routersSection } from './schema/routers.ts';
import { routingSection } from './schema/routing.ts';
import { serverSection } from './schema/server.ts';
import { countersSection, ledgerSection, secretsSection, storageSection } from './schema/storage.ts';
import { tagsSection } from './schema/tags.ts';
import { retrySection, timeoutsSection } from './schema/timing.ts';
import { toolsSection } from './schema/tools.ts';

/*
 * The configuration, with the names of the file. `describe.ts` generates docs/reference/configuration.md from this
 * schema. It has four keywords of its own. `unit: 'bytes'` allows `32MiB`. `restart: true` marks settings that a
 * reload does not change. `secret: true` keeps a value out of every message. `says` describes a pattern in words.
 */

/** The whole file, after `load.ts` has merged and interpolated it. */
export const configSchema = Type.Object({
  server: serverSection,
  storage: storageSection,
  ledger: ledgerSection,
  tags: tagsSection,
  counters: countersSection,
  secrets: secretsSection,
  log: logSection,
  telemetry: telemetrySection,
  io_logging: ioLoggingSection,
  files: filesSection,
  timeouts: timeoutsSection,
  retry: retrySection,
  providers: Type.Array(providerSection, {
    description: 'Providers and their models. Empty: only the simulator, as `simulator/*`.',
    default: [],
  }),
  embeddings: embeddingSettings,
  images: imagesSection,
  catalog: catalogSection,
  routers: routersSection,
  plugins: pluginsSection,
  limits: limitsSection,
  budgets: budgetsSection,
  alerts: alertsSection,
  outbound: outboundSection,
  guardrails: guardrailsSection,
  tools: toolsSection,
  interns: internsSection,
  mcp: mcpSection,
  routing: routingSection,
  bootstrap: bootstrapSection,
});

/** The effective configuration: every default filled in, every name interpolated, frozen. Keys as in the file. */
export type Config = Static<typeof configSchema>;

export type ProviderConfig = Config['providers'][number];
export type ModelConfig = ProviderConfig['models'][number];
export type McpConfig = Config['mcp'];
export type BootstrapConfig = Config['bootstrap'];
