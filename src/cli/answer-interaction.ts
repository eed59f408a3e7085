import type { LineReader } from './line-reader.ts';
import type { TerminalOutput } from './terminal.ts';

/** A question of an intern. @see docs/reference/intern-chat.md#questions */
export type Interaction =
  | { kind: 'permission'; operation: string | null; options: string[] }
  | { kind: 'elicitation'; message: string; fields: InteractionField[] };

interface InteractionField {
  name: string;
  type: 'string' | 'number' | 'boolean';
  required: boolean;
  options?: string[];
}

const CANCEL = 'cancel';

/** Lets a person answer a question. The end of the input cancels it. @returns the content of the answer */
export async function answerInteraction(
  interaction: Interaction,
  lines: Pick<LineReader, 'read'> | undefined,
  output: TerminalOutput,
): Promise<string> {
  const ask = async (question: string): Promise<string | undefined> => {
    output.write(question);
    return (await lines?.read())?.trim();
  };
  if (interaction.kind === 'permission') {
    const choices = [...interaction.options, CANCEL];
    output.write(`It wants to run: ${interaction.operation ?? 'a tool'}\n${list(choices)}`);
    for (;;) {
      const chosen = await ask('Choice: ');
      if (chosen === undefined) return CANCEL;
      const found = choose(choices, chosen);
      if (found !== undefined) return found;
    }
  }
  output.write(`${interaction.message}\n`);
  const content: Record<string, string | number | boolean> = {};
  for (const field of interaction.fields) {
    const answer = await answerField(field, ask, output);
    if (answer === CANCEL_FIELD) return JSON.stringify({ action: 'cancel' });
    if (answer !== undefined) content[field.name] = answer;
  }
  return JSON.stringify({ action: 'accept', content });
}

const CANCEL_FIELD = Symbol('cancel');

async function answerField(
  { name, type, required, options }: InteractionField,
  ask: (question: string) => Promise<string | undefined>,
  output: TerminalOutput,
): Promise<string | number | boolean | undefined | typeof CANCEL_FIELD> {
  if (options) output.write(list(options));
  const kind = type === 'boolean' ? ' (yes or no)' : type === 'number' ? ' (a number)' : '';
  for (;;) {
    const text = await ask(`${name}${kind}${required ? '' : ', optional'}: `);
    if (text === undefined) return CANCEL_FIELD;
    if (text === '' && !required) return undefined;
    const value = readAnswer(type, options ? choose(options, text) : text);
    if (value !== undefined && text !== '') return value;
  }
}

function readAnswer(type: InteractionField['type'], text: string | undefined): string | number | boolean | undefined {
  if (text === undefined || type === 'string') return text;
  if (type === 'number') return Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (/^(y|yes|true)$/i.test(text)) return true;
  return /^(n|no|false)$/i.test(text) ? false : undefined;
}

const list = (options: readonly string[]): string => options.map((each, at) => `  ${at + 1} ${each}\n`).join('');

/** @param text a number of the list, or an option */
const choose = (options: readonly string[], text: string): string | undefined =>
  options.find((option) => option === text) ?? options[Number(text) - 1];
