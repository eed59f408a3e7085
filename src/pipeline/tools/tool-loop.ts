import { MAX_TOOL_CALLS } from '../../domain/max-tool-calls.ts';
import type { Chunk } from '../../domain/chunks.ts';
import type { InputItem, ToolChoice } from '../../domain/items.ts';
import type { RequestSettings, StopCondition } from '../../domain/request.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Run } from '../run/run.ts';
import type { ApprovedCalls, McpPart, NextStep, Resumption, ToolLoop } from '../run/server-tools.ts';
import type { CallingStep, ResponseStep } from '../run/step.ts';
import { type CallParts, createRoom } from './run-call.ts';
import { type CallResults, overLimit, runCalls } from './run-calls.ts';
import { findSuspendedCalls, resumeCalls } from './resume-calls.ts';
import { findReason, measureRun } from './stop-conditions.ts';
import { ToolStage } from './tool-stage.ts';

/** Maximum number of calls that telemetry gets. A turn may contain any number that do not run. */
const MAX_RECORDED = 512;

export interface ToolLoopParts {
  run: Run;
  offered: CallParts['offered'];
  /** Undefined: the request has no MCP servers. */
  mcp: McpPart | undefined;
  /** Maximum number of calls of a request with conditions. */
  maxSteps: number;
  /** Names of the caller's own tools. */
  clientNames: ReadonlySet<string>;
  /** Returns the settings with which the model sees the tools now. */
  settings: () => Partial<RequestSettings>;
  adapt: ToolLoop['adapt'];
  isNative: ToolLoop['isNative'];
  check: ToolLoop['check'];
  reviser: ToolLoop['reviser'];
  addSources: CallParts['addSources'];
  ports: CallParts['ports'];
}

/**
 * Runs the server tools of one run, and decides when its last turn comes. Each turn that another one follows makes a call
 * that counts, apart from the last two, so that the limit of calls bounds the turns.
 */
export class ServerToolLoop implements ToolLoop {
  readonly use: ToolLoop['use'] = { requested: 0, executed: 0 };
  readonly calls: ToolLoop['calls'][number][] = [];
  readonly reviser: ToolLoop['reviser'];
  readonly adapt: ToolLoop['adapt'];
  readonly isNative: ToolLoop['isNative'];
  readonly check: ToolLoop['check'];
  readonly prepare: ToolLoop['prepare'];
  private readonly parts: ToolLoopParts;
  private readonly conditions: readonly StopCondition[];
  /** The maximum number of calls, and the field or setting that has it. */
  private readonly limit: { readonly name: string; readonly calls: number };
  /** Types and function names of the tools called so far. */
  private readonly called = new Set<string>();
  private readonly room = createRoom();
  private stage: ToolStage | undefined;
  /** Whether the model was told not to call tools. */
  private isLast = false;

  constructor(parts: ToolLoopParts) {
    const { max_tool_calls: limit, stop_server_tools_when: conditions } = parts.run.request;
    this.parts = parts;
    this.adapt = parts.adapt;
    this.isNative = parts.isNative;
    this.check = parts.check;
    this.reviser = parts.reviser;
    this.conditions = conditions === undefined ? [] : Array.isArray(conditions) ? conditions : [conditions];
    this.limit =
      conditions === undefined
        ? { name: 'max_tool_calls', calls: Math.min(limit ?? MAX_TOOL_CALLS, MAX_TOOL_CALLS) }
        : { name: 'max_steps', calls: parts.maxSteps };
    const { mcp } = parts;
    this.prepare = mcp && ((...args) => mcp.prepare(this.approvedCalls, ...args));
  }

  choose(plan: ResponseStep['plan']): boolean {
    const { mcp, offered } = this.parts;
    return mcp === undefined || mcp.choose(plan) || offered.size > 0;
  }

  private get approvedCalls(): ApprovedCalls {
    const { settings } = this.parts;
    return {
      isOff: this.limit.calls === 0,
      get settings() {
        return settings();
      },
      run: (step, out) => this.runApproved(step, out),
    };
  }

  get settings(): Partial<RequestSettings> {
    return this.parts.settings();
  }

  owns(name: string, namespace: string | undefined): boolean {
    return namespace === undefined && !this.parts.clientNames.has(name);
  }

  offers(name: string): boolean {
    return this.parts.offered.has(name);
  }

  callsMcp(label: string): boolean {
    return this.parts.mcp?.calls(label) === true;
  }

  /** Runs calls that the caller has approved. */
  private async runApproved(step: CallingStep, out: Sink<Chunk>): Promise<readonly InputItem[]> {
    this.use.requested += step.toolCalls.length;
    this.note(undefined);
    const { items } = await this.runCalls(step, this.limit.calls, out);
    return items;
  }

  /** @param reason why the model gets only one more turn, or none */
  private note(reason: string | undefined): void {
    this.stage ??= new ToolStage(this.parts.run.stages, this.parts.offered);
    this.stage.note(this.use.requested, reason);
  }

  private runCalls(step: CallingStep, left: number, out: Sink<Chunk>): Promise<CallResults> {
    return runCalls({ ...this.callParts(this.stage!), step, left }, out); // `note` creates the stage
  }

  async run(step: ResponseStep, out: Sink<Chunk>): Promise<NextStep | undefined> {
    if (this.isLast) return this.insist(step);
    const { run } = this.parts;
    const calls = step.toolCalls;
    const left = Math.max(0, this.limit.calls - this.use.requested);
    this.use.requested += calls.length;
    const isShared = hasClientCalls(run, step);
    const reason = this.findReason(step);
    this.note(isShared ? 'client_calls' : reason);
    const { items, endsResponse } = await this.runCalls(step, left, out);
    if (endsResponse) this.note('client_calls');
    if (isShared || endsResponse) return undefined; // the client acts, and sends all calls back
    return { items, settings: reason === undefined ? this.nextSettings() : this.lastSettings() };
  }

  resume(step: ResponseStep, out: Sink<Chunk>): Promise<Resumption> | undefined {
    const { run, offered } = this.parts;
    const suspended = findSuspendedCalls(run.input.read(), offered);
    if (suspended.length === 0) return undefined;
    this.stage ??= new ToolStage(run.stages, offered);
    const model = step.plan.endpoints[0]?.model ?? step.plan.requested;
    return resumeCalls({ ...this.callParts(this.stage), model }, suspended, out);
  }

  private callParts(stage: ToolStage): CallParts {
    const { run, offered, ports, addSources } = this.parts;
    const record: CallParts['record'] = (call) => {
      if (this.calls.length < MAX_RECORDED) this.calls.push({ ...call, step: run.steps.length - 1 });
    };
    return { run, offered, use: this.use, stage, ports, room: this.room, addSources, record };
  }

  /**
   * Drops the tools if the provider ignores `tool_choice: none` and the model has not written anything. One more turn
   * follows.
   */
  private insist(step: ResponseStep): NextStep | undefined {
    const { run } = this.parts;
    const isBare = step.settings?.tools?.length === 0;
    if (isBare || hasMessage(run, step) || hasClientCalls(run, step)) return undefined;
    const items = step.toolCalls.map(({ callId }): InputItem => {
      return { type: 'function_call_output', call_id: callId, output: overLimit };
    });
    return { items, settings: { tools: [], tool_choice: 'auto' } };
  }

  /** Returns why the next turn is the last one; undefined: it is not. */
  private findReason(step: ResponseStep): string | undefined {
    const { run, offered } = this.parts;
    for (const { name } of step.toolCalls) {
      this.called.add(name);
      const type = offered.get(name)?.tool.type;
      if (type !== undefined) this.called.add(type);
    }
    const condition = findReason(this.conditions, {
      calls: this.use.requested,
      called: this.called,
      ...measureRun(run),
      finishReason: step.committed?.finish?.reason,
    });
    if (condition) return condition.type;
    return this.use.requested >= this.limit.calls ? this.limit.name : undefined;
  }

  /** A choice of the request counts for the first turn. Otherwise `required` would never end. */
  private nextSettings(): Partial<RequestSettings> {
    const { settings } = this;
    const { tool_choice: choice } = settings;
    if (choice === undefined) return settings;
    const isLimited = isAllowedTools(this.parts.run.request.tool_choice) && isAllowedTools(choice);
    return { ...settings, tool_choice: isLimited ? { ...choice, mode: 'auto' } : 'auto' };
  }

  /** The tools stay, so that the provider finds the same prefix in its cache. */
  private lastSettings(): Partial<RequestSettings> {
    this.isLast = true;
    return { ...this.settings, tool_choice: 'none' };
  }
}

const isAllowedTools = (choice: ToolChoice | undefined): choice is Extract<ToolChoice, { type: 'allowed_tools' }> =>
  typeof choice === 'object' && choice.type === 'allowed_tools';

/** Calls that the client runs. */
const clientCalls: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'mcp_approval_request',
]);

const itemsOf = ({ builder }: Run, { firstItem }: ResponseStep) => builder?.items.slice(firstItem) ?? [];

/** The provider may have run a shell itself: its result is then in the output, too. */
function hasClientCalls(run: Run, step: ResponseStep): boolean {
  const items = itemsOf(run, step);
  return items.some(({ type, call_id: callId }) => {
    if (!clientCalls.has(type)) return false;
    return !items.some((item) => item.type === `${type}_output` && item['call_id'] === callId);
  });
}

const hasMessage = (run: Run, step: ResponseStep): boolean => itemsOf(run, step).some(({ type }) => type === 'message');
