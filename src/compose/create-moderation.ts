import type { Config } from '../config/schema.ts';
import { ModerationFailure, type ModeratedContent, type ModerationVerdict, notFlagged } from '../domain/moderation.ts';
import { type CallService, ServiceError } from '../domain/service.ts';
import { requestJson } from '../pipeline/request-json.ts';
import type { ResponsePipeline } from '../pipeline/response-pipeline.ts';
import type { RunBase } from '../pipeline/run/run.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import { readClassification, writeClassifierRequest } from '../plugins/moderation/classifier-request.ts';
import type { ModerationEngine, ModerationSettings } from '../plugins/moderation/index.ts';
import { judgeWithService } from '../plugins/moderation/judge-with-service.ts';

export interface ModerationParts {
  config: () => Config;
  call: CallService;
  pipeline: () => ResponsePipeline;
  log: WriteLog;
  rejectedKeys: Telemetry['rejectedKeys'];
}

type Settings = Config['plugins']['moderation'];

/** Pieces of a text that a model judges, each with a request. */
const MAX_PIECES = 8;

/** Returns a function that finds the engine of the current configuration. */
export function createModerationPort({
  config,
  call,
  pipeline,
  log,
  rejectedKeys,
}: ModerationParts): () => ModerationSettings {
  let known: Settings | undefined;
  let engine: ModerationEngine | undefined;
  return () => {
    const { moderation } = config().plugins;
    if (moderation !== known) {
      const opened = openService(moderation, call) ?? openClassifier(moderation, pipeline);
      engine = opened && withLog(opened, { log, rejectedKeys });
      known = moderation;
    }
    return { engine, isRequired: moderation.required };
  };
}

function openService(settings: Settings, call: CallService): ModerationEngine | undefined {
  const { url, api_key: apiKey, model, timeout_ms: timeoutMs, images: checksImages } = settings;
  if (url === undefined) return undefined;
  const service = { url: new URL(url), apiKey, model, timeoutMs, checksImages };
  return {
    name: 'moderations',
    judge: (content, { cancellation }) => judgeWithService(call, service, content, cancellation.signal),
  };
}

function openClassifier(
  { model, timeout_ms: timeoutMs }: Settings,
  pipeline: () => ResponsePipeline,
): ModerationEngine | undefined {
  if (model === undefined) return undefined;
  return {
    name: 'classifier',
    async judge({ texts }: ModeratedContent, run): Promise<ModerationVerdict> {
      if (texts.length > MAX_PIECES) throw new ModerationFailure('The input is too long for the classifier.');
      for (const text of texts) {
        const request = writeClassifierRequest(model, text);
        // the pipelines moderate only their own runs
        const answer = await requestJson(pipeline(), run as RunBase, request, timeoutMs).catch((error: unknown) => {
          if (run.cancellation.reason) throw run.cancellation.reason;
          throw new ModerationFailure('The classifier failed.', { cause: error });
        });
        const verdict = readClassification(answer, text);
        if (verdict.flagged) return verdict;
      }
      return notFlagged;
    },
  };
}

const withLog = (
  { name, judge }: ModerationEngine,
  { log, rejectedKeys }: Pick<ModerationParts, 'log' | 'rejectedKeys'>,
): ModerationEngine => ({
  name,
  judge: (content, run) =>
    judge(content, run).catch((error: unknown) => {
      if (error instanceof ModerationFailure) {
        const { cause, message } = error;
        if (cause instanceof ServiceError && rejectedKeys.noteService('moderation', cause)) throw error;
        const { reason, status } = cause instanceof ServiceError ? cause : { reason: message, status: undefined };
        log('moderation failed', { generation_id: run.generationId, engine: name, reason, status });
      }
      throw error;
    }),
});
