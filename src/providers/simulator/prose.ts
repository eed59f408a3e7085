import { createNumbers } from './seed.ts';

const openings = [
  'To begin with',
  'Seen from afar',
  'On a closer look',
  'In most accounts',
  'Step by step',
  'As a rule',
];
const verbs = ['rests on', 'leads to', 'borrows from', 'makes room for', 'is measured against', 'grows out of'];
const matters = [
  'a small number of plain ideas',
  'habits that nobody wrote down',
  'the patience of those who try twice',
  'what the last attempt left behind',
  'a rule of thumb that rarely fails',
  'questions that were asked too late',
];
const endings = [
  'and that is enough',
  'which surprises few',
  'until something changes',
  'as the figures show',
  'or so it seems',
];

/**
 * Writes sentences about a subject. The same prompt and purpose always give the same sentences.
 *
 * @yields an infinite sequence of sentences, each with its period and without surrounding spaces
 */
export function* writeSentences(prompt: string, purpose: string): Generator<string, never> {
  const next = createNumbers(`${purpose} ${prompt}`);
  const pick = (words: string[]) => words[next() % words.length]!;
  const subject = nameSubject(prompt);
  for (;;) yield `${pick(openings)}, ${subject} ${pick(verbs)} ${pick(matters)}, ${pick(endings)}.`;
}

/** Returns the first six words of a prompt in quotes. */
export function nameSubject(prompt: string): string {
  const words = prompt.slice(0, 200).split(/\s+/).filter(Boolean);
  return words.length === 0 ? 'the subject' : `“${words.slice(0, 6).join(' ')}${words.length > 6 ? ' …' : ''}”`;
}

/** Returns exactly `count` words of a text. A text that is too short is repeated. */
export function takeWords(text: string, count: number): string {
  const words = text.split(/\s+/).filter(Boolean);
  if (words.length === 0) words.push('word');
  return Array.from({ length: count }, (_, index) => words[index % words.length]).join(' ');
}
