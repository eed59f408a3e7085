import type { CitableSource } from '../../domain/cite-sources.ts';
import type { OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import type { ReplayedCall, ToolOutcome } from '../server-tool.ts';
import type { FusionAnalysis } from './analysis.ts';
import type { FusionSource, PanelResponse, ModelFailure } from './call-model.ts';

/** Maximum sources of an item. */
const MAX_SOURCES = 50;

/** The end of a panel. */
export interface PanelResult {
  readonly responses: readonly PanelResponse[];
  readonly failures: readonly ModelFailure[];
  readonly analysis?: FusionAnalysis | undefined;
  /** Why there is no analysis. The model does not read it. */
  readonly analysisFailure?: { readonly reason: string; readonly error: string } | undefined;
  readonly sources: readonly FusionSource[];
}

/** Writes the result of a panel with a response. */
export function writeResult({ responses, failures, analysis, analysisFailure, sources }: PanelResult): ToolOutcome {
  const unique = [...new Map(sources.map((source) => [source.url, source])).values()].slice(0, MAX_SOURCES);
  const parts = {
    ...(analysis && { analysis }),
    responses: responses.map(({ model, content }) => ({ model, content })),
    ...(failures.length > 0 && { failed_models: failures.map(showFailure) }),
  };
  return {
    result: { status: 'ok', ...parts },
    item: {
      ...parts,
      ...(unique.length > 0 && { sources: unique }),
      ...(analysisFailure && { error: analysisFailure.error, failure_reason: analysisFailure.reason }),
    },
    sources: unique.map((source): CitableSource => ({ ...source, content: '' })),
  };
}

/** Writes the result of a panel in which every model has failed. */
export function writePanelFailure(failures: readonly ModelFailure[]): ToolOutcome {
  const [reason, shown] = findReason(failures);
  const list = failures.map(({ model, error }) => `${model}: ${error}`).join(' ');
  const error = `No model of the panel has responded. ${list}`.slice(0, 4000);
  const fields = { error, failed_models: failures.map(showFailure) };
  return {
    result: { status: 'error', ...fields, failure_reason: reason },
    item: { ...fields, failure_reason: shown },
  };
}

/** Writes the result of a call without a panel. */
export const writeCallFailure = (reason: string, error: string): ToolOutcome => ({
  result: { status: 'error', error, failure_reason: reason },
  item: { error, failure_reason: reason },
});

/** The reason for the model, and that of the item. */
function findReason(failures: readonly ModelFailure[]): [string, string] {
  const causes = new Set(failures.map(({ cause }) => cause));
  const reason = causes.has('credit')
    ? 'insufficient_credits'
    : causes.has('rate')
      ? 'rate_limited'
      : 'all_panels_failed';
  const isUnknown = causes.size === 1 && causes.has('model');
  return [reason, isUnknown ? 'invalid_model' : reason];
}

/** A failure as the result and the events show it. */
export const showFailure = ({ model, error, status }: ModelFailure) => ({
  model,
  error,
  ...(status !== undefined && { status_code: status }),
});

/** Returns the call that an item shows. */
export function replayPanel(item: OutputItem): ReplayedCall | undefined {
  const { analysis, responses, failed_models: failed, error, failure_reason: reason, arguments: given } = item;
  const input = (typeof given === 'string' ? parseObject(given) : undefined) ?? {};
  const failures = Array.isArray(failed) ? { failed_models: failed } : undefined;
  if (Array.isArray(responses) && responses.length > 0) {
    const result = { status: 'ok', ...(analysis ? { analysis } : undefined), responses, ...failures };
    return { arguments: input, result };
  }
  if (typeof error !== 'string') return undefined;
  const named = typeof reason === 'string' ? { failure_reason: reason } : undefined;
  return { arguments: input, result: { status: 'error', error, ...failures, ...named } };
}
