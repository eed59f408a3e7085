import { IMAGE, estimateMedia } from '../../domain/estimate-media.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { InputItem } from '../../domain/items.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';

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
export function* readContent(item: InputItem): SlicedWork<Content> {
  const content: Content = { texts: [], tokens: TOKENS_PER_ITEM };
  if (item.type === 'image_generation_call') content.tokens += IMAGE;
  else yield* collectFields(item, content);
  return content;
}

/** Characters that cost one unit of work to estimate. */
const CHARACTERS_PER_WORK = 250;
/** An estimate does not read many more characters, however long the texts are. */
const MAX_CHARACTERS = 2_048;

/** Estimates the tokens of an item. */
export function* measureItem(item: InputItem): SlicedWork<number> {
  const { texts, tokens } = yield* readContent(item);
  let characters = 0;
  for (const { length } of texts) characters += length;
  yield texts.length / 4 + Math.min(characters, MAX_CHARACTERS) / CHARACTERS_PER_WORK;
  return tokens + estimateTokens(texts);
}

function* collectFields(holder: object, content: Content): SlicedWork<void> {
  const fields = Object.entries(holder);
  yield fields.length;
  for (const [name, value] of fields) {
    if (silentFields.has(name)) continue;
    if (name === 'encrypted_content' && typeof value === 'string')
      content.tokens += value.length / CHARACTERS_PER_HIDDEN_TOKEN;
    else if (typeof value === 'string' && value.startsWith('data:') && !textFields.has(name)) content.tokens += IMAGE;
    else if (typeof value === 'string') content.texts.push(value);
    else if (typeof value === 'object' && value !== null) yield* collect(value, content);
  }
}

function* collect(value: object, content: Content): SlicedWork<void> {
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const each: unknown = value[at];
      if (typeof each === 'string') content.texts.push(each);
      else if (typeof each === 'object' && each !== null) yield* collect(each, content);
      if (at % BATCH === BATCH - 1) yield BATCH;
    }
    return;
  }
  const media = estimateMedia(value);
  if (media === undefined) yield* collectFields(value, content);
  else content.tokens += media;
}

/** Elements of a list between two places where the work can pause. */
const BATCH = 256;
