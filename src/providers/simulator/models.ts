import { findEffort } from '../../domain/items.ts';
import type { ReasoningSetting } from '../../domain/request.ts';
import type { WireConversation } from './conversation.ts';
import { nameSubject, takeWords, writeSentences } from './prose.ts';
import type { SimulatorRequest } from './wire.ts';

/** The output of a model without directives. */
export interface SimulatorModel {
  /** Undefined: this model does not reason by default. */
  reason?(conversation: WireConversation, reasoning: ReasoningSetting): string;
  answer(conversation: WireConversation, request: SimulatorRequest): string;
  /** Whether the model draws instead of writing. */
  draws?: boolean;
}

/** The models of the simulator by the name after `simulator/`. */
export const models: Readonly<Record<string, SimulatorModel>> = {
  echo: { answer: ({ prompt }) => prompt || 'There is nothing to echo.' },
  writer: { answer: write },
  reasoner: { reason, answer: ({ prompt }) => `After some thought: ${prompt || 'there was no question.'}` },
  image: { answer: ({ prompt }) => prompt, draws: true },
};

const WRITER_CHARACTERS = 700;
const WRITER_MOST_TOKENS = 2000;

/** Writes complete sentences, at least one: as many as `max_output_tokens` allows, or about 120 words. */
function write({ prompt, turn }: WireConversation, request: SimulatorRequest): string {
  const limit = request.max_output_tokens;
  const room = limit === undefined ? WRITER_CHARACTERS : Math.min(limit, WRITER_MOST_TOKENS) * 4;
  const wanted = turn.words ?? 0;
  let text = '';
  let words = 0;
  for (const sentence of writeSentences(prompt, 'prose')) {
    if (text !== '' && words >= wanted && (wanted > 0 || text.length + sentence.length >= room)) return text;
    text += text === '' ? sentence : ` ${sentence}`;
    if (wanted > 0) words += sentence.split(' ').length;
  }
  return text;
}

const stepsByEffort = { none: 0, minimal: 1, low: 2, medium: 3, high: 5, xhigh: 7, max: 9 };

function reason({ prompt }: WireConversation, { effort, enabled, max_tokens: maxTokens }: ReasoningSetting): string {
  const steps = enabled === false ? 0 : stepsByEffort[findEffort(effort) ?? 'medium'];
  const sentences = writeSentences(prompt, 'reasoning');
  const lines = Array.from({ length: steps }, (_, index) => `${index + 1}. ${sentences.next().value}`);
  const text = steps === 0 ? '' : [`The question is ${nameSubject(prompt)}.`, ...lines].join('\n');
  return maxTokens == null ? text : text.slice(0, maxTokens * 4);
}

/** Creates the text of a response, based on the model or the tool outputs, with the requested number of words. */
export function composeText(model: SimulatorModel, conversation: WireConversation, request: SimulatorRequest): string {
  const { outputs, turn } = conversation;
  const text =
    outputs.length > 0
      ? outputs.map(({ name, text }) => `${name} returned: ${text}`).join('\n')
      : model.answer(conversation, request);
  return turn.words === undefined ? text : takeWords(text, turn.words);
}
