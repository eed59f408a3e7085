import type { InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ToolCallContext, ToolEvent, ToolOutcome } from '../server-tool.ts';
import { MAX_ANALYSIS_BYTES, readAnalysis } from './analysis.ts';
import type { PanelPiece } from './panel-reader.ts';
import { callPanelModel, type PanelResponse, type ModelFailure } from './call-model.ts';
import type { PanelRequestParts } from './write-requests.ts';
import { writeAnalysisRequest, writeMemberRequest } from './write-requests.ts';
import { type PanelResult, showFailure, writePanelFailure, writeResult } from './write-result.ts';

/** Maximum bytes of all responses of a panel as JSON. A result may have 1 MiB. */
const MAX_PANEL_BYTES = 640 * 1024;

/** A panel, ready to run. */
export interface PanelPlan {
  /** As an item for the panel, and as text for the analysis. */
  readonly question: { readonly item: InputItem; readonly text: string };
  readonly members: readonly PanelRequestParts[];
  readonly analyst: PanelRequestParts;
  readonly timeoutMs: number;
}

type PanelContext = Pick<ToolCallContext, 'cancellation' | 'respond' | 'emit' | 'request'>;

/**
 * Lets the models of a panel respond at the same time, and another one compare the responses. Shows the progress.
 *
 * @throws the reason of the cancellation of the call
 * @see docs/reference/tools/fusion.md
 */
export async function runPanel(context: PanelContext, plan: PanelPlan): Promise<ToolOutcome> {
  const { members } = plan;
  const show = createShow(context);
  await show([
    { type: `${prefix}.in_progress` },
    ...members.map(({ model }): ToolEvent => ({ type: `${prefix}.panel.added`, model })),
  ]);
  const called = await Promise.all(members.map((member) => runMember(context, plan, member, show)));
  const responses = called.filter((each) => 'content' in each);
  const failures = called.filter((each) => 'error' in each);
  const outcome =
    responses.length === 0
      ? writePanelFailure(failures)
      : writeResult({ responses, failures, ...(await analyze(context, plan, responses, show)) });
  await show([{ type: `${prefix}.completed` }]);
  return outcome;
}

const prefix = 'response.fusion_call';

type Show = (events: readonly ToolEvent[]) => Promise<void>;

/** Sends the events of all models one after the other, because they arrive at the same time. */
function createShow({ emit }: Pick<PanelContext, 'emit'>): Show {
  let last: Promise<void> = Promise.resolve();
  return (events) => {
    const sent = last.then(() => emit(events));
    last = sent.catch(() => {}); // the sender of the events gets the error
    return sent;
  };
}

async function runMember(
  context: PanelContext,
  { members, question, timeoutMs }: PanelPlan,
  member: PanelRequestParts,
  show: Show,
): Promise<PanelResponse | ModelFailure> {
  const { model } = member;
  const response = await callPanelModel(context, {
    model,
    timeoutMs,
    request: writeMemberRequest(member, question.item),
    maxBytes: Math.floor(MAX_PANEL_BYTES / members.length),
    show: (pieces) => showPieces(context, model, pieces, show),
  });
  await show([
    'content' in response
      ? { type: `${prefix}.panel.completed`, model, content: response.content }
      : { type: `${prefix}.panel.failed`, ...showFailure(response) },
  ]);
  return response;
}

/** A buffered response shows no progress. */
function showPieces(
  { request }: PanelContext,
  model: string,
  pieces: readonly PanelPiece[],
  show: Show,
): MaybePromise<void> {
  if (request.stream !== true) return undefined;
  return show(
    pieces.map(({ kind, delta }): ToolEvent => {
      const type = kind === 'text' ? `${prefix}.panel.delta` : `${prefix}.panel.reasoning.delta`;
      return { type: type as ToolEvent['type'], model, delta }; // both begin with the prefix
    }),
  );
}

async function analyze(
  context: PanelContext,
  { analyst, question, timeoutMs }: PanelPlan,
  responses: readonly PanelResponse[],
  show: Show,
): Promise<Pick<PanelResult, 'analysis' | 'analysisFailure' | 'sources'>> {
  const { model } = analyst;
  const ofPanel = responses.flatMap(({ sources }) => sources);
  await show([{ type: `${prefix}.analysis.in_progress`, analyst_model: model, judge_model: model }]);
  const called = await callPanelModel(context, {
    model,
    timeoutMs,
    request: writeAnalysisRequest(analyst, question.text, responses),
    maxBytes: MAX_ANALYSIS_BYTES,
    show: () => undefined,
  });
  if ('error' in called) {
    const reason = called.cause === 'empty' ? 'judge_empty_completion' : 'judge_upstream_error';
    return {
      analysisFailure: { reason, error: `${model} has not compared the responses. ${called.error}` },
      sources: ofPanel,
    };
  }
  const sources = [...ofPanel, ...called.sources];
  const read = readAnalysis(called.content);
  if ('error' in read) return { analysisFailure: read, sources };
  await show([{ type: `${prefix}.analysis.completed`, analysis: read.analysis }]);
  return { analysis: read.analysis, sources };
}
