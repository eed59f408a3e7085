import type { Config } from '../config/schema.ts';
import type { SummarySeal } from '../domain/compaction.ts';
import { describeGeneration } from '../contents/image-content.ts';
import { assembleRetrieval, type RetrievalPipelines } from './assemble-retrieval.ts';
import { createInputFilter, createPromptFilter, type InputFilterParts } from '../guardrails/inspect-run.ts';
import { createOutputGuard } from '../guardrails/output/guard-output.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import { ByteBudget } from '../pipeline/images/byte-budget.ts';
import { createRetryParts } from '../pipeline/steps/endpoint-queue.ts';
import { beginCharge } from '../pipeline/accounting/charge-run.ts';
import { respond } from '../pipeline/respond.ts';
import { createOpenMcp } from '../pipeline/tools/mcp/mcp-tools.ts';
import { createInnerImage } from '../pipeline/create-inner-image.ts';
import { createServerTools } from '../pipeline/tools/open-tools.ts';
import type { RejectionLog } from '../metering/rejections.ts';
import { estimateCost, estimateImagesCost, estimateInputCost } from '../pipeline/accounting/estimate-cost.ts';
import { findTask } from '../pipeline/steps/find-task.ts';
import type { MediaSource } from '../pipeline/attempts/inline-urls.ts';
import type { ImagePipeline } from '../pipeline/image-pipeline.ts';
import { createSearchedFilesInspector } from '../pipeline/run/check-searched-files.ts';
import { createReachInspector } from '../pipeline/run/inspect-reach.ts';
import { createStoredFileInspector } from '../pipeline/run/insert-stored-files.ts';
import type { ImageRun } from '../pipeline/run/image-run.ts';
import type { ResponsePipeline } from '../pipeline/response-pipeline.ts';
import type { EmbeddingRun, RerankRun } from '../pipeline/run/retrieval-run.ts';
import { buildRequest, type Run } from '../pipeline/run/run.ts';
import { createCallService } from '../platform/outbound/call-service.ts';
import { fetchMedia } from '../platform/outbound/fetch-media.ts';
import { createImageFetchers } from '../platform/outbound/images-from.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import { TokenCounter } from '../platform/tokenizers/token-counter.ts';
import type { PassageStore } from '../platform/storage/ports/passages.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import { createTools } from '../tools/index.ts';
import { isInputList } from '../requests/responses/schema/items.ts';
import type { Containers } from '../tools/containers.ts';
import type { ServerTool } from '../tools/server-tool.ts';
import { createPromptModeration } from '../plugins/moderation/index.ts';
import { createPlugins } from '../plugins/index.ts';
import { JsonHealer } from '../plugins/response-healing/json-healer.ts';
import type { Plugin } from '../plugins/plugin.ts';
import { findUnknownNames } from '../routing/unknown-names.ts';
import type { Estimate } from '../metering/spending.ts';
import { createModerationPort } from './create-moderation.ts';
import { createMcp } from './create-mcp.ts';
import { findSearchEngines } from './find-search-engines.ts';
import type { ConfiguredModels } from './build-models.ts';
import type { FileParts } from '../management/files/parts.ts';
import { createNamedFiles } from './create-named-files.ts';
import { createWorkspaceFiles } from './create-workspace-files.ts';
import { createFileTexts, createSearchedFiles } from './create-file-texts.ts';
import { createFusionPorts } from './create-fusion-ports.ts';
import { createFilePorts } from './create-file-ports.ts';
import type { DiscoverModels } from './discover-models.ts';
import { listCallableModels } from './list-callable-models.ts';
import { compilePattern } from './compile-pattern.ts';
import { createPageReader } from './create-page-reader.ts';
import { createImageSettingsReader } from './read-image-settings.ts';
import { payersOf } from '../metering/spending.ts';
import { createRunObserver } from './observe-run.ts';
import type { Accounting } from './open-accounting.ts';
import type { Accounts } from './open-accounts.ts';

export interface PipelinesParts extends Pick<ResponsePipeline, 'routingContext' | 'hashEndUser'> {
  config: () => Config;
  models: () => ConfiguredModels;
  discover: DiscoverModels;
  accounting: Accounting;
  rejections: RejectionLog;
  /** The stored files of workspaces. */
  files: FileParts;
  /** Their texts. */
  passages: PassageStore;
  /** The connections to addresses that callers name. */
  outbound: Outbound;
  /** The containers of tools that run commands. */
  containers: Containers;
  accounts: Pick<Accounts, 'spending'>;
  contentGuardrails: InputFilterParts;
  /** The operator's plugins. */
  modules: readonly Plugin[];
  telemetry: Pick<Telemetry, 'observe' | 'rejectedKeys'>;
  log: WriteLog;
  /** Server tools of the operator. */
  addedTools: readonly ServerTool[];
  /** Signs a text for a purpose. */
  sign: (purpose: string, text: string) => string;
  /** Seals summaries of conversations. */
  summaries: SummarySeal;
  /** The version of the gateway. */
  version: string;
}

/**
 * Assembles the pipelines of responses, image generations, embeddings and reranks, with the same models and the same ledger.
 *
 * @param resources receives the resources that must be closed
 */
export function assemblePipelines(
  parts: PipelinesParts,
  resources: AsyncDisposableStack,
): {
  pipeline: ResponsePipeline;
  imagePipeline: ImagePipeline;
} & RetrievalPipelines {
  const { config, models, routingContext, hashEndUser, accounting, accounts, contentGuardrails, telemetry, log } =
    parts;
  const { addedTools, version, outbound } = parts;
  const { ledger } = accounting;
  const observeRun = createRunObserver(parts);
  const callService = createCallService();
  const tokenCounter = new TokenCounter();
  const healer = new JsonHealer();
  const { spending } = accounts;
  const { rejectedKeys } = telemetry;
  const findSearchEngine = findSearchEngines(config, callService, (engine, driver, error) => {
    if (rejectedKeys.noteService(`search ${engine}`, error)) return;
    log('web search failed', { engine, driver, reason: error.reason, status: error.status });
  });
  const media = (): MediaSource => {
    const { fetch, request_bytes, request_urls } = config().outbound;
    return {
      fetch: fetch ? (url, options) => fetchMedia(outbound, url, options) : undefined,
      maxBytes: request_bytes,
      maxUrls: request_urls,
    };
  };
  const everyRun = {
    routingContext,
    hashEndUser,
    identifyAccount: (workspaceId: string) =>
      config().server.account_identity ? hashEndUser(workspaceId, '') : undefined,
    maxAttempts: () => config().routing.max_attempts,
    retry: createRetryParts(),
    begin: ledger.begin,
    record: ledger.record,
    recordRejected: parts.rejections.note,
    region: () => config().server.region,
    findUnknownProviders: ({ request, caller }: Run | ImageRun | EmbeddingRun | RerankRun) =>
      findUnknownNames(request.provider, models().catalog.endpoints, caller.workspaceId),
  };
  const filePorts = createFilePorts({ config, log, rejectedKeys, call: callService, media });
  const readPage = createPageReader({
    outbound,
    extractFile: filePorts.extractFile,
    mayFetch: () => config().outbound.fetch,
  });
  const namedFiles = createNamedFiles(parts.files, () => {
    const { files, plugins } = config();
    return { maxFiles: plugins.file_parser.max_files, maxBytes: files.request_bytes };
  });
  const moderation = createModerationPort({ config, call: callService, pipeline: () => pipeline, log, rejectedKeys });
  const fusion = createFusionPorts({
    routingContext,
    findSearchEngine,
    mayFetch: () => config().outbound.fetch,
    findTool: (type) => tools.get(type),
  });
  const tools: ReadonlyMap<string, ServerTool> = new Map(
    [
      ...createTools({
        findSearchEngine,
        readPage,
        listModels: listCallableModels(models, routingContext, parts.discover),
        compilePattern,
        readImageSettings: createImageSettingsReader(() => config().tools.image_generation.model, routingContext),
        workspaceFiles: createWorkspaceFiles(parts.files),
        fileTexts: createFileTexts(parts.passages),
        containers: parts.containers,
        findTool: (type) => tools.get(type),
        fusion,
        isInput: isInputList,
        sign: parts.sign,
      }),
      ...addedTools,
    ].map((tool) => [tool.type, tool]),
  );
  const pipeline: ResponsePipeline = {
    ...everyRun,
    findTask(run) {
      const { classifier } = config().routers.auto;
      return classifier && findTask(pipeline, { model: classifier.model, timeoutMs: classifier.timeout_ms }, run);
    },
    inspectors: [
      createInputFilter(contentGuardrails),
      createStoredFileInspector(namedFiles),
      createReachInspector(media),
      createSearchedFilesInspector(createSearchedFiles(parts.files.files)),
    ],
    guardOutput: createOutputGuard(contentGuardrails.sets),
    plugins: createPlugins({
      modules: parts.modules,
      countTokens: (model, texts) => tokenCounter.count(model, texts),
      ...filePorts,
      ...fusion,
      healer,
      moderation,
      findSearchEngine,
      charge: (run, planned) => beginCharge(pipeline, run as Run, planned), // plugins get no other runs
      reserveInput: (run, tokens) => reserveInput(run as Run, tokens), // see above
    }),
    summaries: parts.summaries,
    reserveInput,
    tools: createServerTools({
      tools,
      openMcp: createOpenMcp(
        resources.use(createMcp({ config, servers: () => models().mcpServers, outbound, version, log, rejectedKeys })),
      ),
      ownsMcp: (label) => models().mcpServers.has(label),
      maxSteps: () => config().tools.max_steps,
      charge: (run, planned) => beginCharge(pipeline, run, planned),
      respond: (request, sink) => respond(pipeline, request, sink),
      createImage: (request, sink) => createInnerImage(imagePipeline, request, sink),
      report: (type, error) => log('tool failed', { tool: type, err: error }),
    }),
    reserve(run, plan) {
      const { generationId, reservation } = run;
      const payers = payersOf(run);
      if (!reservation && !spending.limits(payers)) return undefined;
      const estimate = plan ? estimateCost(buildRequest(run), plan) : nothing;
      return reservation ? reservation.extend(estimate) : spending.reserve(payers, generationId, estimate);
    },
    observe(run, entry) {
      observeRun(run, entry, () => run);
    },
    upstreamBodyLimit: () => config().server.upstream_body_limit,
    learnsRules: () => config().routing.learn_rules,
    checkFormat: ({ caller, cancellation }, text, format) =>
      healer.check(text, format, { workspaceId: caller.workspaceId, cancellation }),
    media,
  };
  const { references, ...images } = createImageFetchers(outbound, () => ({
    fetch: config().outbound.fetch,
    check: config().images.check,
  }));
  const moderatePrompt = createPromptModeration({ moderation });
  const imagePipeline: ImagePipeline = {
    ...everyRun,
    moderate: (run, endpoint) => moderatePrompt(run, run.request.prompt, endpoint),
    inspector: createPromptFilter(contentGuardrails),
    reserve(run, plan) {
      const payers = payersOf(run);
      if (!plan || !spending.limits(payers)) return undefined; // images have no charges
      return spending.reserve(payers, run.generationId, estimateImagesCost(run.request, plan));
    },
    observe(run, entry) {
      observeRun(run, entry, () => describeGeneration(run));
    },
    references,
    images,
    limits() {
      const { answer_limit, reference_limit, body_limit } = config().images;
      return { answer: answer_limit, reference: reference_limit, fetched: body_limit };
    },
    budget: new ByteBudget(() => config().images.memory),
  };
  return { pipeline, imagePipeline, ...assembleRetrieval(everyRun, parts) };
}

/** Reserves the cost of input that was not known when the route was planned. */
function reserveInput({ reservation, steps }: Run, tokens: number): MaybePromise<void> {
  const plan = steps.at(-1)?.plan;
  if (!reservation || !plan) return undefined;
  const extended = reservation.extend(estimateInputCost(tokens, plan));
  return extended instanceof Promise ? extended.then(() => undefined) : undefined;
}

/** The estimate of a run without a plan. */
const nothing: Estimate = { nanoUsd: 0n, sharedNanoUsd: 0n };
