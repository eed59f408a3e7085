import type { GatewayError } from '../domain/errors.ts';

type Tokens = GatewayError['tokens'];

/**
 * Begins the message of an input that is too long with the words that clients of the Messages API look for before they
 * shorten a conversation.
 */
export function sayPromptTooLong(message: string, tokens?: Tokens): string {
  const counts =
    tokens?.input === undefined || tokens.max === undefined ? '' : `: ${tokens.input} tokens > ${tokens.max} maximum`;
  return `prompt is too long${counts}. ${message}`;
}

/**
 * The same with the words that clients of Gemini look for.
 *
 * @see https://github.com/google-gemini/gemini-cli/issues/12214
 */
export function sayInputTooLong(message: string, tokens?: Tokens): string {
  const { input, max } = tokens ?? {};
  const count = input === undefined ? '' : ` (${input})`;
  const limit = max === undefined ? '' : ` (${max})`;
  return `The input token count${count} exceeds the maximum number of tokens allowed${limit}. ${message}`;
}

/** The same with the words that clients of chat completions look for. */
export function sayMaximumContext(message: string, tokens?: Tokens): string {
  return tokens?.max === undefined
    ? `This model's maximum context length is exceeded. ${message}`
    : `This model's maximum context length is ${tokens.max} tokens. ${message}`;
}
