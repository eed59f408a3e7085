import type { Call } from '../clients/turn.ts';

/* A model of the loop of server tools, written from docs/reference/tools.md#steps and nothing else. */

/** A turn of a scripted model. */
export interface ModelTurn {
  words: string;
  /** Calls of `router_echo`, or of a tool that does not exist. */
  calls: readonly Call[];
  /** Whether it also calls the function `ask_user` of the client. */
  asksClient: boolean;
  /** Whether the output limit interrupts it. */
  isCut: boolean;
  /** Whether the first server is overloaded when it is sent, so that the second one serves it. */
  fails: boolean;
}

/** The rules that end the calls. */
export interface ModelLimit {
  max_tool_calls?: number;
  stop_server_tools_when?: unknown;
}

type Condition = { type: string; step_count?: number; max_tokens?: number; tool_name?: string };

export interface ExpectedTurn {
  choice: 'auto' | 'none';
  /** The tools that the model sees: those of the gateway, too, only the function of the client, or none. */
  tools: 'all' | 'client' | 'none';
  /** The result of each call, if the model sees it in the next turn. */
  results: object[];
}

export interface ExpectedRun {
  turns: ExpectedTurn[];
  /** Results of `router:echo` items. */
  items: object[];
  texts: string[];
  requested: number;
  status: 'completed' | 'incomplete';
  reason: string | undefined;
  hasClientCall: boolean;
}

export const limitMessage = { error: 'Tool call limit reached. Respond with the results so far.' };

/** The last turn of every script. */
export const lastTurn: ModelTurn = { words: 'Done.', calls: [], asksClient: false, isCut: false, fails: false };

const MAX_CALLS = { ofRequest: 30, withConditions: 100 };

/** @returns the result, and whether the call runs */
function resultOf({ name, input }: Call): { ran: boolean; result: object } {
  if (name !== 'router_echo') return { ran: false, result: { error: /^There is no tool named/ } };
  const { text } = input as { text?: unknown };
  if (typeof text !== 'string') return { ran: false, result: { error: /^The arguments are invalid/ } };
  if (text === 'broken') return { ran: true, result: { error: /^The tool failed/ } };
  return { ran: true, result: text === 'fails' ? { error: /^It fails/ } : { text } };
}

/** Runs the model of the loop. */
export function expectedRun(script: readonly ModelTurn[], limit: ModelLimit, turnTokens: number): ExpectedRun {
  const given = limit.stop_server_tools_when as Condition | Condition[] | undefined;
  const conditions = given === undefined ? [] : [given].flat();
  const most =
    given === undefined ? Math.min(limit.max_tool_calls ?? 30, MAX_CALLS.ofRequest) : MAX_CALLS.withConditions;
  const run: ExpectedRun = {
    turns: [],
    items: [],
    texts: [],
    requested: 0,
    status: 'completed',
    reason: undefined,
    hasClientCall: false,
  };
  const called = new Set<string>();
  let tools: ExpectedTurn['tools'] = most > 0 ? 'all' : 'client';
  let isLast = false;
  for (let at = 0; ; at++) {
    const { words, calls, asksClient, isCut } = script[at] ?? lastTurn;
    const turn: ExpectedTurn = { choice: isLast && tools !== 'none' ? 'none' : 'auto', tools, results: [] };
    run.turns.push(turn);
    if (words !== '') run.texts.push(words);
    if (isCut) run.status = 'incomplete';
    run.hasClientCall = asksClient;
    if (isCut || calls.length === 0) return run;
    if (isLast) {
      // The model ignores the choice. One more turn without any tool follows if it has written nothing.
      if (tools === 'none' || words !== '' || asksClient) return run;
      turn.results = calls.map(() => limitMessage);
      tools = 'none';
      continue;
    }
    const left = Math.max(0, most - run.requested);
    run.requested += calls.length;
    for (const { name } of calls) called.add(name);
    if (asksClient) called.add('ask_user');
    const condition = conditions.find(
      ({ type, step_count, max_tokens, tool_name }) =>
        (type === 'step_count_is' && run.requested >= step_count!) ||
        (type === 'max_tokens_used' && (at + 1) * turnTokens >= max_tokens!) ||
        (type === 'has_tool_call' && called.has(tool_name!)),
    );
    const reason =
      condition?.type ?? (run.requested >= most ? (given === undefined ? 'max_tool_calls' : 'max_steps') : undefined);
    run.reason = asksClient ? 'client_calls' : (reason ?? run.reason);
    for (const [index, each] of calls.entries()) {
      const { ran, result } = index < left ? resultOf(each) : { ran: false, result: limitMessage };
      turn.results.push(result);
      if (ran) run.items.push(result);
    }
    if (asksClient) return run;
    isLast = reason !== undefined;
  }
}
