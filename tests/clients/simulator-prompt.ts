import type { Turn } from './turn.ts';
import { writeInput } from './turn.ts';

/** Writes a prompt that makes the simulator produce these turns, one for each request of a tool loop. */
export function writePrompt(prompt: string, turns: readonly Turn[]): string {
  return [prompt, turns.map(writeTurn).join(' [[then]] ')].join(' ');
}

function writeTurn(turn: Turn): string {
  const { reasoning, text, refusal, calls = [], finish, usage, fail, after, waitMs, slowMs } = turn;
  const wait = fail?.retryAfterSeconds === undefined ? '' : `${fail.retryAfterSeconds}s `;
  return [
    waitMs && `[[wait ${waitMs}]]`,
    slowMs && `[[slow ${slowMs}]]`,
    fail && `[[fail ${fail.status} ${wait}${fail.message}]]`,
    reasoning && `[[reason ${reasoning}]]`,
    text && `[[say ${text}]]`,
    refusal && `[[refuse ${refusal}]]`,
    ...calls.map((call) => `[[call ${call.name} ${writeInput(call)}]]`),
    finish && `[[finish ${finish}]]`,
    usage && `[[usage ${JSON.stringify(usage)}]]`,
    after === 'silence' && '[[stall 2]]',
    after === 'failure' && '[[break 2 500 The server had an error.]]',
  ]
    .filter(Boolean)
    .join(' ');
}
