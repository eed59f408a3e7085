import { IMAGE, estimateMedia } from '../../domain/estimate-media.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { InputItem } from '../../domain/items.ts';

/** Tokens of the role and the borders of an item. */
const TOKENS_PER_ITEM = 4;
/** Characters of an encrypted text per token. */
const CHARACTERS_PER_HIDDEN_TOKEN = 8;

/** Fields that are no text for the model. */
const silentFields = new Set([
  'type',
  'role',
  'id',
  'call_id',
  'status',
  'format',
  'signature',
  'detail',
  'annotations',
]);

/** Fields that are text, even if it looks like a data URL. */
const textFields = new Set(['text', 'content', 'output', 'arguments', 'input', 'refusal']);

/** The text of an item, and the tokens of everything else. */
export interface Content {
  readonly texts: string[];
  tokens: number;
}

/** Finds everything in an item that a model reads. */
export function readContent(item: InputItem): Content {
  const content: Content = { texts: [], tokens: TOKENS_PER_ITEM };
  if (item.type === 'image_generation_call') content.tokens += IMAGE;
  else collectFields(item, content);
  return content;
}

/** Estimates the tokens of an item. */
export function measureItem(item: InputItem): number {
  const { texts, tokens } = readContent(item);
  return tokens + estimateTokens(texts);
}

function collectFields(holder: object, content: Content): void {
  for (const [name, value] of Object.entries(holder)) {
    if (silentFields.has(name)) continue;
    if (name === 'encrypted_content' && typeof value === 'string')
      content.tokens += value.length / CHARACTERS_PER_HIDDEN_TOKEN;
    else if (typeof value === 'string' && value.startsWith('data:') && !textFields.has(name)) content.tokens += IMAGE;
    else collect(value, content);
  }
}

function collect(value: unknown, content: Content): void {
  if (typeof value === 'string') content.texts.push(value);
  else if (Array.isArray(value)) for (const each of value) collect(each, content);
  else if (typeof value === 'object' && value !== null) {
    const media = estimateMedia(value);
    if (media === undefined) collectFields(value, content);
    else content.tokens += media;
  }
}
