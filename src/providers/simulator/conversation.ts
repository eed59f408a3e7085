import type { InputItem } from '../../domain/items.ts';
import { joinTurns, readScript, type ScriptTurn } from './language.ts';
import type { SimulatorRequest } from './wire.ts';

/** The part of the input that determines the response. */
export interface WireConversation {
  /** The last user message without its directives. */
  prompt: string;
  turn: ScriptTurn;
  /** False once there are tool outputs after the last user message. */
  isFirstTurn: boolean;
  /** Tool outputs since the last user message, oldest first. */
  outputs: { name: string; text: string }[];
  /** Characters divided by four, rounded up, plus 64 for each part that is not text. */
  inputTokens: number;
  /** Differs between the turns of a conversation. Used for ids. */
  seed: string;
}

const TOKENS_OF_MEDIA = 64;

/** Counts tokens by the documented rule: a token is four UTF-16 units of text, and the last token may be shorter. */
export const countTokens = (characters: number): number => Math.ceil(characters / 4);

/** Reads the input: the last message, its directives, and the progress of the tool loop. */
export function readConversation(request: SimulatorRequest): WireConversation {
  const { input, instructions = '' } = request;
  const lastUser = input.findLastIndex(isFromUser);
  const said = readScript(lastUser === -1 ? '' : readText(input[lastUser]!));
  const told = readScript([instructions, ...input.filter(isFromOperator).map(readText)].join('\n'));
  const names = new Map<unknown, string>();
  const outputs: WireConversation['outputs'] = [];
  let turnIndex = 0;
  for (const [index, item] of input.entries()) {
    if ('call_id' in item && 'name' in item) names.set(item.call_id, String(item.name));
    if (index <= lastUser || !isToolOutput(item)) continue;
    if (index === 0 || !isToolOutput(input[index - 1]!)) turnIndex++;
    outputs.push({ name: names.get((item as { call_id?: string }).call_id) ?? 'the tool', text: readText(item) });
  }
  return {
    prompt: said.text,
    turn: joinTurns(told.turns[turnIndex], said.turns[turnIndex]),
    isFirstTurn: turnIndex === 0,
    outputs,
    inputTokens: countInput(request),
    seed: `${said.text}|${input.length}|${turnIndex}`,
  };
}

const isFromUser = (item: InputItem): boolean =>
  (item.type === 'message' && item.role === 'user') || item.type === 'agent_message';
const isFromOperator = (item: InputItem): boolean =>
  item.type === 'message' && (item.role === 'system' || item.role === 'developer');
const isToolOutput = (item: InputItem): boolean => item.type.endsWith('_call_output');

/** Returns the text of an item: its parts, its output or its call. Omits anything else. */
function readText(item: InputItem): string {
  const { name, arguments: json, input, content, output, summary } = item as Record<string, unknown>; // checked below
  return [name, json, input, content, output, summary].flatMap(readTexts).join('\n');
}

function readTexts(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  return Array.isArray(value) ? value.flatMap((part) => readTexts(part?.text ?? part?.refusal ?? part?.stdout)) : [];
}

function countInput({ input, instructions = '', tools }: SimulatorRequest): number {
  let characters = instructions.length + (tools ? JSON.stringify(tools).length : 0);
  let media = 0;
  for (const item of input) {
    characters += readText(item).length;
    const { content, output } = item as Record<string, unknown>; // checked below
    for (const parts of [content, output]) if (Array.isArray(parts)) media += parts.filter(isMedia).length;
  }
  return countTokens(characters) + media * TOKENS_OF_MEDIA;
}

const isMedia = (part: unknown): boolean =>
  ['input_image', 'input_file', 'input_audio', 'input_video'].includes((part as { type: string } | null)?.type ?? '');
