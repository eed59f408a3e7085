import type { Rules } from '../rules/facets.ts';
import type { WireBody } from './fit.ts';
import type { MessagesDraft } from './parts.ts';
import type { Block, Turn } from './wire.ts';

export const asBlocks = (system: Block[] | string | undefined): Block[] =>
  typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? []);

const CONTINUE: Block = { type: 'text', text: 'Continue.' };
/** The result of a call that was interrupted. */
const NO_RESULT = 'The call was interrupted and has no result.';

const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === '';

/** Fits the turns of a body to the order and the contents that a server accepts. */
export function fitTurns(draft: MessagesDraft, body: WireBody, rules: NonNullable<Rules['turns']>): void {
  const adapt = (what: string): void => void draft.adapted.add(what);
  if (rules.blank === false) dropBlank(body, adapt);
  if (rules.results) fitResults(body, adapt);
  if (rules.alternate) joinTurns(body, adapt);
  if (rules.user_needed && body.messages.length === 0) {
    body.messages = [{ role: 'user', content: body.system === undefined ? [CONTINUE] : asBlocks(body.system) }];
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
    const content = turn.content.flatMap((block) => fitBlank(block, adapt));
    if (content.length !== turn.content.length) adapt('blank texts');
    if (content.length === 0) continue;
    const before = turns.at(-1);
    if (before?.role === turn.role && Array.isArray(before.content)) before.content = [...before.content, ...content];
    else turns.push({ ...turn, content });
  }
  body.messages = turns;
}

function fitBlank(block: Block, adapt: (what: string) => void): Block[] {
  if (isBlank(block)) return [];
  if (block.type !== 'tool_result' || !Array.isArray(block.content) || !block.content.some(isBlank)) return [block];
  adapt('blank texts');
  return [{ ...block, content: block.content.filter((part) => !isBlank(part)) }];
}

/** Gives every call a result in the next turn. A result without a call becomes text of the user. */
function fitResults(body: WireBody, adapt: (what: string) => void): void {
  let waiting: string[] = [];
  const turns: Turn[] = [];
  const answer = (ids: readonly string[]): Block[] =>
    ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }));
  for (const turn of body.messages) {
    const content = Array.isArray(turn.content) ? turn.content : [];
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

const isOrphan = (block: Block, known: ReadonlySet<string>): boolean =>
  block.type === 'tool_result' && !known.has(block.tool_use_id);

function asText(block: Block): Block[] {
  if (block.type !== 'tool_result') return [block];
  if (typeof block.content === 'string') return [{ type: 'text', text: `Result of a tool: ${block.content}` }];
  return [{ type: 'text', text: 'Result of a tool:' }, ...block.content];
}
