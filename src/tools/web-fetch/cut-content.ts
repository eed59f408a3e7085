import { estimateTokens } from '../../domain/estimate-tokens.ts';

/** Approximate tokens of a page if the request does not say. */
const USUAL_TOKENS = 25_000;

/** Maximum characters of a page, whatever the request says. */
const MAX_CHARACTERS = 250_000;

/** Shortens the text of a page to about the given number of tokens, and adds a note at its end. */
export function cutContent(text: string, maxTokens: number = USUAL_TOKENS): string {
  const tokens = estimateTokens([text]);
  const fitting = tokens <= maxTokens ? text.length : Math.floor((text.length * maxTokens) / tokens);
  const length = Math.min(fitting, MAX_CHARACTERS);
  if (length >= text.length) return text;
  return `${text.slice(0, length).toWellFormed().trimEnd()}\n\n[The page continues. Its rest was left out.]`;
}
