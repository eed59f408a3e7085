import { IMAGE, estimateMedia } from '../../domain/estimate-media.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { InputItem } from '../../domain/items.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';

/** Tokens of the role and the borders of an item. */
const TOKENS_PER_ITEM = 4;
/** Characters of an encrypted text per token. */
const CHARACTERS_PER_HIDDEN_TOKEN = 8;

/** Fields that are not text for the model. */
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

/** Content, and the units of work since the reading last yielded. */
interface Reading extends Content {
  work: number;
}

/** Finds everything in an item that a model reads. */
export function* readContent(item: InputItem): SlicedWork<Content> {
  const reading: Reading = { texts: [], tokens: TOKENS_PER_ITEM, work: 0 };
  if (item.type === 'image_generation_call') reading.tokens += IMAGE;
  else for (const inner of readFields(item, reading)) yield* readInner(inner, reading);
  yield reading.work;
  return reading;
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

const none: readonly object[] = [];

/** Reads the fields of an object. @returns the objects in them, which are to be read */
function readFields(holder: object, reading: Reading): readonly object[] {
  const fields = Object.entries(holder);
  reading.work += fields.length;
  let inner: object[] | undefined;
  for (const [name, value] of fields) {
    if (silentFields.has(name)) continue;
    if (name === 'encrypted_content' && typeof value === 'string')
      reading.tokens += value.length / CHARACTERS_PER_HIDDEN_TOKEN;
    else if (typeof value === 'string' && value.startsWith('data:') && !textFields.has(name)) reading.tokens += IMAGE;
    else if (typeof value === 'string') reading.texts.push(value);
    else if (typeof value === 'object' && value !== null) {
      inner ??= [];
      inner.push(value);
    }
  }
  return inner ?? none;
}

/** Reads an object within an item. @returns the objects in it, which are to be read */
function readObject(value: object, reading: Reading): readonly object[] {
  const media = estimateMedia(value);
  if (media === undefined) return readFields(value, reading);
  reading.tokens += media;
  return none;
}

/** Most of the objects of a long list have no further ones in them, and cost no generator. */
function* readInner(value: object, reading: Reading): SlicedWork<void> {
  if (!Array.isArray(value)) {
    for (const inner of readObject(value, reading)) yield* readInner(inner, reading);
    return;
  }
  for (const each of value as unknown[]) {
    if (typeof each === 'string') reading.texts.push(each);
    else if (Array.isArray(each)) yield* readInner(each, reading);
    else if (typeof each === 'object' && each !== null) {
      for (const inner of readObject(each, reading)) yield* readInner(inner, reading);
    }
    if (++reading.work < BATCH) continue;
    yield reading.work;
    reading.work = 0;
  }
}

/** Units of work between two places where the work can pause. */
const BATCH = 256;
