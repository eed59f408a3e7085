import { isFields, type Schema, type Seen } from './seen.ts';

/** What a fake says, before its format writes it. */
export interface PlannedOutput {
  text: string;
  /** The text in front of the output, if the request lets the model reason. */
  thoughts: string;
  calls: { id: string; name: string; input: Record<string, unknown> }[];
}

/** The text and the thoughts of every fake. */
export const responseText = 'Hello there.';
export const responseThoughts = 'Let me think.';

/**
 * Answers as a model does: calls the first two tools if the last message has no result and the request permits it, or
 * forces it. Otherwise writes a text, or an object if the request has a format.
 */
export function planOutput(seen: Seen, nextId: (name: string) => string): PlannedOutput {
  const { tools = [], choice, chosen, format, settings } = seen;
  const isAnswered = (seen.messages.at(-1)?.results.length ?? 0) > 0;
  const isForced = choice === 'required' || choice === 'named';
  const calls = tools.length > 0 && choice !== 'none' && (isForced || !isAnswered);
  const isSingle = choice === 'named' || settings['parallel_tool_calls'] === false;
  const called = choice === 'named' ? tools.filter(({ name }) => name === chosen) : tools;
  return {
    text: calls ? '' : format ? JSON.stringify({ answer: responseText }) : responseText,
    thoughts: responseThoughts,
    calls: calls
      ? called
          .slice(0, isSingle ? 1 : 2)
          .map(({ name, parameters }) => ({ id: nextId(name), name, input: fillProperties(parameters) }))
      : [],
  };
}

/** A whole number that a number cannot hold exactly. The first property of each call has it. */
export const longNumber = '1234567890123456789';
/** ES2026, which Node has and the types of TypeScript lack. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Gives the first property of an object a long number, and every other one a text. */
function fillProperties(schema: Schema | undefined): Record<string, unknown> {
  const properties = schema?.['properties'];
  if (!isFields(properties)) return {};
  return Object.fromEntries(
    Object.keys(properties).map((name, index) => [name, index === 0 ? rawJSON(longNumber) : `value ${index}`]),
  );
}
