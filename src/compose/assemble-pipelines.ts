import { checkMeaning } from '../api/responses/check-meaning.ts';
import { rejectUnsupportedFeatures } from '../api/responses/unsupported-features.ts';
import type { Config } from '../config/schema.ts';
import { describeGeneration } from '../contents/image-content.ts';
import { findSetting } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import { assembleStages, type PipelineParts } from '../pipeline/assemble-stages.ts';
import { estimateCost, estimateImagesCost } from '../pipeline/estimate-cost.ts';
import { assembleImageStages, type ImageStages } from '../pipeline/image-stages.ts';
import { createRouterMetadata } from '../pipeline/router-metadata.ts';
import type { ImageRun, Run } from '../pipeline/run.ts';
import type { Stages } from '../pipeline/stages.ts';
import { fetchMedia } from '../platform/outbound/fetch-media.ts';
import { createImageFetchers } from '../platform/outbound/images-from.ts';
import { createOutbound, type OutboundSettings } from '../platform/outbound/outbound.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import { plugins } from '../plugins/index.ts';
import { findUnknownNames } from '../routing/unknown-names.ts';
import type { ConfiguredModels } from './build-models.ts';
import type { Accounts } from './open-accounts.ts';
import type { Accounting } from './open-accounting.ts';

export interface PipelinesParts extends Pick<PipelineParts, 'routingContext' | 'hashEndUser'> {
  config: () => Config;
  models: () => ConfiguredModels;
  accounting: Accounting;
  accounts: Pick<Accounts, 'spending'>;
  telemetry: Pick<Telemetry, 'observe'>;
  log: WriteLog;
}

/** The stages of a response, and those of pictures, over the same world and the same books. */
export function assemblePipelines(parts: PipelinesParts): { stages: Stages; imageStages: ImageStages } {
  const { config, models, routingContext, hashEndUser, accounting, accounts, telemetry, log } = parts;
  const { ledger, contents } = accounting;
  const { spending } = accounts;
  let outboundConfig = config().outbound;
  let outboundSettings = readOutbound(outboundConfig); // the same until a reload: its rules are compiled once
  const outbound = createOutbound({
    settings() {
      const { outbound: now } = config();
      if (now !== outboundConfig) outboundSettings = readOutbound(now);
      outboundConfig = now;
      return outboundSettings;
    },
    report: (failure) => log('outbound fetch failed', failure),
  });
  const everyRun = {
    routingContext,
    hashEndUser,
    maxAttempts: () => config().routing.max_attempts,
    begin: ledger.begin,
    book: ledger.record,
    findUnknownProviders: ({ request, caller }: Run | ImageRun) =>
      findUnknownNames(request.provider, models().catalog.endpoints, caller.workspaceId),
  };
  const stages = assembleStages({
    ...everyRun,
    classifier() {
      const { classifier } = config().routers.auto;
      return classifier && { model: classifier.model, timeoutMs: classifier.timeout_ms };
    },
    inspectors: [checkMeaning, rejectUnsupportedFeatures],
    preparers: plugins.map((plugin) => (run) => {
      const setting = findSetting(run.request, plugin.id);
      const record = (stage: StageRecord) => void run.stages.push(stage);
      return setting && plugin.prepare({ request: run.request, record }, setting);
    }),
    reserve({ caller, request, generationId }, plan) {
      if (!spending.limits(caller)) return undefined;
      return spending.reserve(caller, generationId, estimateCost(request, plan));
    },
    observe(run, entry) {
      telemetry.observe(run, entry);
      if (run.caller.contentSampling !== undefined) contents.record(run);
    },
    region: () => config().server.region,
    upstreamBodyLimit: () => config().server.upstream_body_limit,
    media() {
      const { fetch, request_bytes, request_urls } = config().outbound;
      return {
        fetch: fetch ? (url, options) => fetchMedia(outbound, url, options) : undefined,
        maxBytes: request_bytes,
        maxUrls: request_urls,
      };
    },
  });
  const imageStages = assembleImageStages({
    ...everyRun,
    reserve({ caller, request, generationId }, plan) {
      if (!spending.limits(caller)) return undefined;
      return spending.reserve(caller, generationId, estimateImagesCost(request, plan));
    },
    observe(run, entry) {
      telemetry.observe(run, entry);
      if (run.caller.contentSampling !== undefined) contents.record(describeGeneration(run));
    },
    describeRun: (run) => createRouterMetadata(run, config().server.region),
    ...createImageFetchers(outbound, () => ({ fetch: config().outbound.fetch, check: config().images.check })),
    limits() {
      const { answer_limit, memory, reference_limit, body_limit } = config().images;
      return { answer: answer_limit, memory, reference: reference_limit, fetched: body_limit };
    },
  });
  return { stages, imageStages };
}

const readOutbound = (outbound: Config['outbound']): OutboundSettings => ({
  allow: outbound.allow,
  deny: outbound.deny,
  ports: outbound.ports,
  maxBytes: outbound.max_bytes,
  timeoutMs: outbound.timeout_ms,
  idleMs: outbound.idle_ms,
  parallel: outbound.parallel,
});
