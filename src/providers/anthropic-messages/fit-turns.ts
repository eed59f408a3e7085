import { billingHeader, isBillingText } from '../../domain/billing-text.ts';
import { FAILED_CALL } from '../../domain/native.ts';
import { refuseBecause } from '../kit/draft.ts';
import type { Rules } from '../rules/facets.ts';
import { NO_RESULT } from '../rules/fit/texts.ts';
import type { WireBody } from './fit.ts';
import type { MessagesDraft } from './parts.ts';
import type { Block, Turn } from './wire.ts';

export const asBlocks = (system: Block[] | string | undefined): Block[] =>
  typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? []);

const CONTINUE: Block = { type: 'text', text: 'Continue.' };

const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === '';

/**
 * Fits the turns of a body to the order and the contents that a server accepts.
 *
 * @throws {GatewayError} `invalid_request` if all texts are blank
 */
export function fitTurns(draft: MessagesDraft, body: WireBody, rules: NonNullable<Rules['turns']>): void {
  const adapt = (what: string): void => void draft.adapted.add(what);
  if (rules.billing === false) dropBilling(draft, body);
  if (rules.blank === false) dropBlank(body, adapt);
  if (rules.results || rules.single_calls) fitResults(body, adapt);
  if (rules.single_calls) separateCalls(body, adapt);
  if (rules.alternate) joinTurns(body, adapt);
  if (rules.user_needed && body.messages.length === 0) {
    if (body.system === undefined) throw refuseBecause('input', 'holds no content: all of its texts are blank');
    body.messages = [{ role: 'user', content: asBlocks(body.system) }];
    delete body.system;
    adapt('roles');
  }
  const last = body.messages.at(-1);
  if (last?.role !== 'assistant' || !Array.isArray(last.content)) return;
  const end = last.content.at(-1);
  if (end?.type === 'tool_use') return;
  if (rules.user_last) {
    body.messages = [...body.messages, { role: 'user', content: [CONTINUE] }];
    adapt('a last message of the user');
  } else if (rules.trailing_space === false && end?.type === 'text' && /\s$/.test(end.text)) {
    last.content[last.content.length - 1] = { ...end, text: end.text.trimEnd() };
    adapt('white space at the end');
  }
}

/** Drops the block with which a coding agent names itself for billing. It changes with each request. */
function dropBilling(draft: MessagesDraft, body: WireBody): void {
  if (!Array.isArray(body.system)) return;
  const kept = body.system.filter((block) => block.type !== 'text' || !isBillingText(block.text));
  if (kept.length === body.system.length) return;
  draft.dropped.push(`instructions (${billingHeader})`);
  if (kept.length > 0) body.system = kept;
  else delete body.system;
}

/** Whether a message has settings besides its content, such as the effort from there on. */
const hasOwnFields = (turn: Turn): boolean => Object.keys(turn).some((name) => name !== 'role' && name !== 'content');

/** Drops blank texts, and turns that then have nothing. Turns that become neighbors are joined. */
function dropBlank(body: WireBody, adapt: (what: string) => void): void {
  if (Array.isArray(body.system) && body.system.some(isBlank)) {
    const kept = body.system.filter((block) => !isBlank(block));
    if (kept.length > 0) body.system = kept;
    else delete body.system;
    adapt('blank texts');
  }
  const turns: Turn[] = [];
  for (const turn of body.messages) {
    if (!Array.isArray(turn.content)) {
      turns.push(turn);
      continue;
    }
    const content = fitBlanks(turn.content, adapt);
    if (content.length === 0 && !hasOwnFields(turn)) continue;
    const before = turns.at(-1);
    const joins = before?.role === turn.role && !hasOwnFields(before) && !hasOwnFields(turn);
    if (joins && Array.isArray(before.content))
      turns[turns.length - 1] = { ...before, content: [...before.content, ...content] };
    else turns.push(content === turn.content ? turn : { ...turn, content });
  }
  body.messages = turns;
}

/** @returns the same list if nothing changes, as in most turns of a conversation */
function fitBlanks(blocks: Block[], adapt: (what: string) => void): Block[] {
  let fitted = blocks;
  for (let index = 0; index < blocks.length; index++) {
    const block = blocks[index]!;
    const made = fitBlank(block, adapt);
    if (fitted === blocks && made !== block) fitted = blocks.slice(0, index);
    if (made && fitted !== blocks) fitted.push(made);
  }
  return fitted;
}

/** @returns undefined for a blank text */
function fitBlank(block: Block, adapt: (what: string) => void): Block | undefined {
  if (isBlank(block)) return void adapt('blank texts');
  if (block.type !== 'tool_result') return block;
  const { content } = block as { content?: string | Block[] }; // a client of the format may leave it out
  const kept = Array.isArray(content) ? content.filter((part) => !isBlank(part)) : content;
  if (block.is_error && !kept?.length) {
    adapt('failed results without content');
    return { ...block, content: FAILED_CALL };
  }
  if (kept === undefined || kept.length === content!.length) return block;
  adapt('blank texts');
  return { ...block, content: kept };
}

/** Gives every call a result in the next turn. A result without a call becomes text of the user. */
function fitResults(body: WireBody, adapt: (what: string) => void): void {
  let waiting: string[] = [];
  const turns: Turn[] = [];
  const answer = (ids: readonly string[]): Block[] =>
    ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }));
  for (const turn of body.messages) {
    const content = Array.isArray(turn.content) ? turn.content : [];
    if (waiting.length === 0 && !content.some(isOfCall)) {
      turns.push(turn);
      continue;
    }
    const results = content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    const missing = waiting.filter((id) => {
      const at = results.indexOf(id); // two calls with one id have two results
      if (at !== -1) results.splice(at, 1);
      return at === -1;
    });
    const known = new Set(waiting);
    waiting = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    let fitted = turn;
    if (
      turn.role === 'user' &&
      content.some((block) => block.type === 'tool_result' && !known.has(block.tool_use_id))
    ) {
      adapt('results without a call');
      fitted = { ...turn, content: content.flatMap((block) => (isOrphan(block, known) ? asText(block) : [block])) };
    }
    if (missing.length > 0) {
      adapt('calls without a result');
      if (turn.role === 'user') fitted = { ...fitted, content: [...answer(missing), ...(fitted.content as Block[])] };
      else turns.push({ role: 'user', content: answer(missing) });
    }
    turns.push(fitted);
  }
  if (waiting.length > 0) {
    adapt('calls without a result');
    turns.push({ role: 'user', content: answer(waiting) });
  }
  body.messages = turns;
}

/** Puts each of several calls into a turn of its own, followed by its result. */
function separateCalls(body: WireBody, adapt: (what: string) => void): void {
  const turns: Turn[] = [];
  for (let index = 0; index < body.messages.length; index++) {
    const turn = body.messages[index]!;
    const blocks = Array.isArray(turn.content) ? turn.content : [];
    const starts = blocks.flatMap((block, at) => (block.type === 'tool_use' ? [at] : []));
    if (starts.length < 2) {
      turns.push(turn);
      continue;
    }
    adapt('parallel calls');
    const rest = [...(body.messages[++index]!.content as Block[])]; // has the results
    starts.forEach((at, nth) => {
      const isLast = nth === starts.length - 1;
      const content = blocks.slice(nth === 0 ? 0 : starts[nth - 1]! + 1, isLast ? undefined : at + 1);
      const { id } = blocks[at] as Extract<Block, { type: 'tool_use' }>;
      const own = rest.findIndex((block) => block.type === 'tool_result' && block.tool_use_id === id);
      turns.push({ ...turn, content }, { role: 'user', content: isLast ? rest : rest.splice(own, 1) });
    });
  }
  body.messages = turns;
}

/** Joins neighbors of one role. */
function joinTurns(body: WireBody, adapt: (what: string) => void): void {
  const turns: Turn[] = [];
  for (const turn of body.messages) {
    const before = turns.at(-1);
    if (before?.role === turn.role && Array.isArray(before.content) && Array.isArray(turn.content)) {
      turns[turns.length - 1] = { ...before, content: [...before.content, ...turn.content] };
      adapt('neighbors of one role');
    } else turns.push(turn);
  }
  body.messages = turns;
}

const isOfCall = ({ type }: Block): boolean => type === 'tool_use' || type === 'tool_result';
const isOrphan = (block: Block, known: ReadonlySet<string>): boolean =>
  block.type === 'tool_result' && !known.has(block.tool_use_id);

function asText(block: Block): Block[] {
  if (block.type !== 'tool_result') return [block];
  if (typeof block.content === 'string') return [{ type: 'text', text: `Result of a tool: ${block.content}` }];
  return [{ type: 'text', text: 'Result of a tool:' }, ...block.content];
}
