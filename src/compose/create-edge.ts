import { createContainerHandlers } from '../api/containers/handlers.ts';
import { createFileHandlers } from '../api/files/handlers.ts';
import { createContentHandler } from '../api/generation/content.ts';
import { createFeedbackHandlers } from '../api/generation/feedback.ts';
import { createGenerationHandler } from '../api/generation/handler.ts';
import { createListGenerationsHandler } from '../api/generation/list.ts';
import { createHealthHandler, createReadyHandler } from '../api/health/handler.ts';
import type { Readiness } from '../api/health/readiness.ts';
import { createVaultHandlers } from '../api/vault/handlers.ts';
import { forClients } from '../api/errors-of-clients.ts';
import { writeOpenAIError } from '../api/openai-errors.ts';
import { createImageModelsHandlers } from '../api/images/models.ts';
import { createChatHandlers } from '../api/interns/chat-handlers.ts';
import { createLogHandler } from '../api/interns/logs.ts';
import { createDaemonHandlers } from '../api/interns/daemon.ts';
import { getChangeableIntern } from '../management/interns/find-intern.ts';
import { recordDaemonAccess } from '../management/interns/record-daemon-access.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { LocalRuntime } from '../interns/runtime/create-runtime.ts';
import type { OwnSocket } from './open-own-socket.ts';
import type { SummarySeal } from '../domain/compaction.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { Caller } from '../domain/caller.ts';
import { createOwnerForwarder } from '../api/interns/forward-to-owner.ts';
import type { HostIdentity } from '../api/interns/host-proof.ts';
import { createHostProxy } from '../api/interns/host-proxy.ts';
import { createInternHandlers } from '../api/interns/handlers.ts';
import { createPresence } from '../api/interns/show-presence.ts';
import { createScheduleHandlers } from '../api/interns/schedule-handlers.ts';
import { createMetricsHandler } from '../api/metrics/handler.ts';
import { createModelsHandlers } from '../api/models/handlers.ts';
import { isAllowed, listRows } from '../routing/model-rows.ts';
import { createOpenApiHandler } from '../api/openapi/handler.ts';
import type { ResponseSockets } from '../api/responses/socket/sockets.ts';
import type { FileParts } from '../management/files/parts.ts';
import type { ManagementParts } from '../management/parts.ts';
import type { ModelRoutingContext } from '../management/workspaces/find-unknown-models.ts';
import type { Config } from '../config/schema.ts';
import type { InputFilterParts } from '../guardrails/inspect-run.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { OpenRequests } from '../http/open-requests.ts';
import { writeErrorEnvelope } from '../http/error-envelope.ts';
import { bindRoutes, definedRoutes } from '../api/routes.ts';
import { createServer } from '../http/server.ts';
import type { ImagePipeline } from '../pipeline/image-pipeline.ts';
import type { ResponsePipeline } from '../pipeline/response-pipeline.ts';
import { createRouterMetadata } from '../pipeline/run/router-metadata.ts';
import type { Remote } from '../platform/cluster/peer.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { DroppedFieldsLog, type PartlyServed } from '../platform/telemetry/dropped-fields-log.ts';
import { isLoopback } from '../platform/telemetry/is-loopback.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import type { Health } from '../routing/health.ts';
import type { VaultParts } from '../vault/secrets.ts';
import type { PrimaryService } from '../workers/services.ts';
import type { RetrievalPipelines } from './assemble-retrieval.ts';
import type { ConfiguredModels } from './build-models.ts';
import type { DiscoverModels } from './discover-models.ts';
import { findVendorAccount } from './find-vendor-account.ts';
import type { OpenedInterns } from './open-interns.ts';
import type { OpenedSchedules } from './open-schedules.ts';
import type { Accounting } from './open-accounting.ts';
import type { Accounts } from './open-accounts.ts';

export interface EdgeParts {
  config: () => Config;
  models: () => ConfiguredModels;
  discover: DiscoverModels;
  routingContext: () => ModelRoutingContext;
  health: Health;
  pipeline: ResponsePipeline;
  /** Opens the summaries that clients send back. */
  summaries: SummarySeal;
  imagePipeline: ImagePipeline;
  embeddingPipeline: RetrievalPipelines['embeddingPipeline'];
  rerankPipeline: RetrievalPipelines['rerankPipeline'];
  /** The settings of the operator's plugins. */
  modules: ModulePlugins;
  accounts: Accounts;
  management: ManagementParts;
  interns: OpenedInterns;
  schedules: OpenedSchedules;
  runtime: Pick<LocalRuntime, 'find' | 'readLog'>;
  /** Signs tokens and session ids of interns, and knows other hosts. */
  host: HostIdentity;
  own: Pick<OwnSocket, 'findKey'>;
  accounting: Accounting;
  files: FileParts;
  storage: Pick<Storage, 'access' | 'containers' | 'contents' | 'interns' | 'ledger' | 'management' | 'ping'>;
  vault: VaultParts;
  contentGuardrails: Pick<InputFilterParts, 'sets' | 'entities'>;
  telemetry: Telemetry;
  open: OpenRequests;
  /** The memory for bodies of requests. */
  bodies: BodyBudget;
  sockets: ResponseSockets;
  /** Whether a shutdown has begun. */
  isDraining: () => boolean;
  /** Whether new requests get a 503. */
  isClosing: () => boolean;
  log: WriteLog;
  version: string;
  /** Whether this process accepts requests. */
  checkReadiness: () => Promise<Readiness>;
  /** Only set in a worker. */
  primary: Remote<PrimaryService> | undefined;
}

/** Creates the server and the parts of each route. Uses the addresses and body limits of the first configuration. */
export function createEdge(parts: EdgeParts): ReturnType<typeof createServer> {
  const { config, models, pipeline, imagePipeline, accounting, storage, telemetry, open, primary } = parts;
  const { access, admit } = parts.accounts;
  const { ledger, contents } = accounting;
  const { server, timeouts, images } = config();
  const { deadlineMs, chatBodyMs } = parts.interns;

  /** Stores the entries and contents of all workers. */
  async function flushAll(): Promise<void> {
    if (!primary) return accounting.flush();
    await primary.flush().catch(() => {}); // if the primary has ended, the store reports it
  }
  /** Searches again after a flush, because another worker may not have stored it yet. */
  async function lookTwice<Found>(find: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const found = await find();
    if (found || !primary) return found;
    await flushAll();
    return find();
  }
  const canRecord = () => ledger.accepting;
  const droppedFieldsLog = new DroppedFieldsLog(parts.log);
  // Requests of agents have the key of their intern, whatever they send.
  const identify = (sent: readonly string[], connection: object) => {
    const key = parts.own.findKey(connection);
    return access.identify(key === undefined ? sent : [`Bearer ${key}`], connection);
  };
  const internDomain = (): string | undefined => (parts.interns.isOffered() ? config().interns.domain : undefined);
  const chatParts = {
    // An intern cannot use the chat API with its own key, because it could answer its own questions. choice 731
    getIntern: (caller: Caller, internId: string) => getChangeableIntern(parts.interns, caller, internId),
    findLive: parts.runtime.find,
    owners: createOwnerForwarder(parts.host),
    admit,
    sign: parts.host.sign,
  };
  const hosts = createHostProxy({
    ...chatParts,
    domain: internDomain,
    findByHostname: (hostname) => callStore(() => parts.interns.interns.findInternByHostname(hostname)),
  });
  const catalog = () => models().catalog;
  const latest = () => parts.routingContext().routers.latest;
  const everyRun = {
    describeRun: (run: Parameters<typeof createRouterMetadata>[0]) => createRouterMetadata(run, config().server.region),
    open,
    admit,
    canRecord,
    onDroppedFields: (served: PartlyServed) => droppedFieldsLog.note(served),
    keepAliveMs: () => config().server.keep_alive_comment_ms,
  };
  const everyText = {
    ...everyRun,
    pipeline,
    modules: parts.modules,
    maxSteps: () => config().tools.max_steps,
    summaries: parts.summaries,
    requestMs: () => config().timeouts.request_ms,
  };

  const everyImage = {
    ...everyRun,
    pipeline: imagePipeline,
    requestMs: () => config().images.request_ms,
    streamMs: () => config().images.stream_ms,
  };
  const everyEmbedding = {
    ...everyRun,
    pipeline: parts.embeddingPipeline,
    requestMs: () => config().timeouts.request_ms,
    maxInputs: () => config().embeddings.max_inputs,
  };

  const modelHandlers = createModelsHandlers({
    catalog,
    discover: parts.discover,
    health: parts.health,
    latest,
    providers: () => models().providers,
  });

  return createServer({
    routes: bindRoutes({
      text: everyText,
      sockets: parts.sockets,
      gemini: { ...modelHandlers, text: everyText, embeddings: everyEmbedding, catalog },
      images: { ...everyImage, bodyLimit: images.body_limit },
      embeddings: everyEmbedding,
      rerank: {
        ...everyRun,
        pipeline: parts.rerankPipeline,
        requestMs: () => config().timeouts.request_ms,
        maxDocuments: () => config().embeddings.max_inputs,
      },
      models: {
        ...modelHandlers,
        ...createImageModelsHandlers({
          catalog,
          rowsFor: (caller) => listRows(catalog(), latest(), isAllowed(caller, catalog())),
        }),
      },
      generations: {
        findGeneration: createGenerationHandler((workspaceId, id) => lookTwice(() => ledger.find(workspaceId, id))),
        listGenerations: createListGenerationsHandler({
          ledger: storage.ledger,
          flushLedger: flushAll,
          hashEndUser: pipeline.hashEndUser,
        }),
        findContent: createContentHandler((id) => lookTwice(() => contents.find(id))),
        ...createFeedbackHandlers({ contents: storage.contents, flushLedger: flushAll }),
      },
      management: {
        ...parts.management,
        ledger: storage.ledger,
        hashEndUser: pipeline.hashEndUser,
        routingContext: parts.routingContext,
      },
      files: createFileHandlers({
        ...parts.files,
        workspaces: storage.management,
        maxUploads: () => config().files.parallel_uploads,
        findVendorAccount: (vendor, workspaceId) => findVendorAccount(config(), models(), vendor, workspaceId),
        requestMs: () => config().timeouts.request_ms,
      }),
      containers: createContainerHandlers({
        containers: storage.containers,
        files: parts.files,
        owner: () => config().tools.sandbox.owner,
        admit,
      }),
      vaults: {
        ...createVaultHandlers({ ...parts.vault, interns: storage.interns, deadlineMs }),
        bodyMs: deadlineMs,
        isOffered: () => config().interns.enabled,
      },
      interns: {
        ...createInternHandlers({
          ...parts.interns,
          show: createPresence({ host: parts.host, findLive: parts.runtime.find }),
        }),
        bodyMs: deadlineMs,
        isOffered: () => parts.interns.isOffered(),
      },
      internChat: {
        ...createChatHandlers(chatParts),
        ...createDaemonHandlers({
          ...chatParts,
          domain: internDomain,
          audit: (caller, intern) => recordDaemonAccess(parts.management, caller, intern),
          now: currentTimeMs,
        }),
        showInternLog: createLogHandler({ ...chatParts, readLog: parts.runtime.readLog }),
        bodyMs: chatBodyMs,
        isOffered: () => parts.interns.isOffered(),
      },
      schedules: {
        ...createScheduleHandlers(parts.schedules, deadlineMs),
        bodyMs: deadlineMs,
        isOffered: () => parts.schedules.isOffered(),
      },
      gateway: {
        showOpenApi: createOpenApiHandler(parts.version, definedRoutes),
        health: createHealthHandler(parts.version, parts.host),
        showMetrics: createMetricsHandler({
          collect: () => primary?.collectMetrics().catch(telemetry.collect) ?? telemetry.collect(),
          access: () => config().server.metrics,
          isLocal: isLoopback(server.host),
          identify: access.identify,
        }),
        ready: createReadyHandler(async () => {
          // If the primary has ended, this worker responds for itself.
          const ofAll = await primary?.collectReadiness().catch(() => undefined);
          return ofAll ?? [await parts.checkReadiness()];
        }),
      },
    }),
    identify,
    isAgent: (connection) => parts.own.findKey(connection) !== undefined,
    isDraining: parts.isDraining,
    isClosing: parts.isClosing,
    hosts,
    open,
    bodyLimit: server.body_limit,
    bodies: parts.bodies,
    receiveMs: timeouts.receive_ms,
    regionalHosts: () => config().server.regional_hosts,
    corsOrigins: server.cors_origins,
    onRouting: parts.sockets.onRouting,
    receivedAt: telemetry.receivedAt,
    watchRoute: telemetry.watchRoute,
    writeError: forClients(writeErrorEnvelope),
    writeUnknownError: forClients(writeOpenAIError),
  });
}
