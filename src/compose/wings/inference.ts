import { createImageModelsHandlers } from '../../api/images/models.ts';
import { createModelsHandlers } from '../../api/models/handlers.ts';
import { createResponseSockets, type ResponseSockets } from '../../api/responses/socket/sockets.ts';
import type { ApiParts } from '../../api/routes.ts';
import type { ServeRunParts } from '../../api/serve-run.ts';
import { createEndUserHash } from '../../access/hash-end-user.ts';
import { createRouterMetadata } from '../../pipeline/run/router-metadata.ts';
import { DroppedFieldsLog, type PartlyServed } from '../../platform/telemetry/dropped-fields-log.ts';
import { isAllowed, listRows } from '../../routing/model-rows.ts';
import { createSummarySeal } from '../../vault/summary-seal.ts';
import { assemblePipelines } from '../assemble-pipelines.ts';
import { loadTools } from '../load-tools.ts';
import type { Base } from '../open-base.ts';
import type { OpenedContainers } from '../open-containers.ts';
import type { LiveModels } from '../open-models.ts';

/** The APIs that call models. */
export interface Inference {
  routes: Pick<ApiParts, 'text' | 'sockets' | 'gemini' | 'images' | 'embeddings' | 'rerank' | 'models'>;
  sockets: ResponseSockets;
  /** Hashes the id of an end user. */
  hashEndUser: (workspaceId: string, id: string) => string;
}

/**
 * Opens the pipelines of responses, images, embeddings and reranks, and their APIs.
 *
 * @param resources collects the resources to close at the end
 */
export async function openInference(
  base: Base,
  live: LiveModels,
  { containers }: Pick<OpenedContainers, 'containers'>,
  resources: AsyncDisposableStack,
): Promise<Inference> {
  const { config, storage, masterKeys, modules, options, state } = base;
  const summaries = createSummarySeal(masterKeys);
  const { pipeline, imagePipeline, embeddingPipeline, rerankPipeline } = assemblePipelines(
    {
      ...base,
      ...live,
      addedTools: await loadTools(config().tools.modules),
      hashEndUser: createEndUserHash(masterKeys.current),
      sign: base.host.sign,
      summaries,
      passages: storage.passages,
      containers: options.containers ?? containers,
      modules: modules.plugins,
    },
    resources,
  );
  const sockets = createResponseSockets({
    bodies: base.bodies,
    bodyLimit: { bytes: config().server.body_limit, source: 'server.body_limit' },
    isDraining: () => state.phase !== 'serving',
    times() {
      const { socket_ping_ms, socket_idle_ms, socket_lifetime_ms } = config().server;
      return { pingMs: socket_ping_ms, idleMs: socket_idle_ms, lifetimeMs: socket_lifetime_ms };
    },
  });
  const catalog = () => live.models().catalog;
  const run = describeRuns(base);
  const requestMs = () => config().timeouts.request_ms;
  const maxInputs = () => config().embeddings.max_inputs;
  const text = {
    ...run,
    pipeline,
    modules: modules.settings,
    maxSteps: () => config().tools.max_steps,
    summaries,
    catalog,
    requestMs,
  };
  const embeddings = { ...run, pipeline: embeddingPipeline, requestMs, maxInputs };
  const latest = () => live.routingContext().routers.latest;
  const models = createModelsHandlers({
    catalog,
    discover: live.discover,
    health: base.health,
    latest,
    providers: () => live.models().providers,
  });
  return {
    sockets,
    hashEndUser: pipeline.hashEndUser,
    routes: {
      text,
      sockets,
      gemini: { ...models, text, embeddings, catalog },
      images: {
        ...run,
        pipeline: imagePipeline,
        requestMs: () => config().images.request_ms,
        streamMs: () => config().images.stream_ms,
        bodyLimit: config().images.body_limit,
      },
      embeddings,
      rerank: { ...run, pipeline: rerankPipeline, requestMs, maxDocuments: maxInputs },
      models: {
        ...models,
        ...createImageModelsHandlers({
          catalog,
          rowsFor: (caller) => listRows(catalog(), latest(), isAllowed(caller, catalog())),
        }),
      },
    },
  };
}

/** Returns what every API that calls models does for a run. */
function describeRuns({ config, open, accounts, accounting, log }: Base) {
  const droppedFieldsLog = new DroppedFieldsLog(log);
  return {
    describeRun: (run: Parameters<typeof createRouterMetadata>[0]) => createRouterMetadata(run, config().server.region),
    open,
    admit: accounts.admit,
    canRecord: () => accounting.ledger.accepting,
    tagKeys: () => config().tags,
    onDroppedFields: (served: PartlyServed) => droppedFieldsLog.note(served),
    keepAliveMs: () => config().server.keep_alive_comment_ms,
  } satisfies ServeRunParts & Record<string, unknown>;
}
