import type { AgentInteraction, InteractionReply, QuestionField } from '../agent/events.ts';
import { RunError } from './run-error.ts';
import { parseJson } from '../../domain/parse-json.ts';

/**
 * Reads the answer of a person: an offered option or `cancel`, or `{ "action", "content" }` as JSON.
 *
 * @throws {RunError} `bad_request`, which leaves the question open
 */
export function readPersonReply(interaction: AgentInteraction, content: string): InteractionReply {
  if (interaction.kind === 'permission') {
    const offered = interaction.options.find((option) => option === content.trim());
    if (offered) return offered;
    if (content.trim() === 'cancel') return 'cancel';
    throw reject(`The answer must be one of ${[...interaction.options, 'cancel'].join(', ')}.`);
  }
  let answer: { action?: unknown; content?: unknown };
  try {
    answer = parseJson(content) as typeof answer;
  } catch {
    throw reject('The answer must be JSON: {"action": "accept", "content": {…}}.');
  }
  const { action, content: values } = answer ?? {};
  if (action === 'decline' || action === 'cancel') return { action };
  if (action !== 'accept') throw reject('action must be accept, decline or cancel.');
  if (typeof values !== 'object' || values === null || Array.isArray(values)) {
    throw reject('content must be an object with the fields of the question.');
  }
  const given = values as Record<string, unknown>; // checked above
  for (const field of interaction.fields) checkField(field, given[field.name]);
  const unknown = Object.keys(given).find((name) => !interaction.fields.some((field) => field.name === name));
  if (unknown !== undefined) throw reject(`The question has no field ${JSON.stringify(unknown.slice(0, 100))}.`);
  return { action, content: given };
}

function checkField({ name, type, required, options }: QuestionField, value: unknown): void {
  if (value === undefined) {
    if (required) throw reject(`content.${name} is missing.`);
    return;
  }
  if (typeof value !== type) throw reject(`content.${name} must be a ${type}.`);
  if (options && !options.includes(String(value)))
    throw reject(`content.${name} must be one of ${options.join(', ')}.`);
}

const reject = (message: string): RunError => new RunError('bad_request', message);
