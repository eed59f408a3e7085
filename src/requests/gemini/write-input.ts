import { isDeepStrictEqual } from 'node:util';
import type { InputItem, ReasoningItem } from '../../domain/items.ts';
import { NATIVE_FIELD, UNTITLED_DOCUMENT } from '../../domain/native.ts';
import { readSealedBytes } from '../../domain/sealed-items.ts';
import { noSignature, signatureFormat } from '../../domain/thought-signature.ts';
import { openSeal, spokenTypes } from '../messages/seal.ts';
import type { PathNotes } from '../path-notes.ts';
import type { GeminiBody, GeminiContentBody, GeminiPart } from './schema.ts';

type Fields = Record<string, unknown>;
type Item = Fields & { type: string };
type Call = NonNullable<GeminiPart['functionCall']>;
type Result = NonNullable<GeminiPart['functionResponse']>;

/**
 * Writes `systemInstruction` and `contents` as the input of a request. Pure, so that a parked input can be written
 * again.
 *
 * @param notes receives the paths of the body for those of the input
 */
export function writeGeminiInput(
  { systemInstruction: system, contents }: Pick<GeminiBody, 'systemInstruction' | 'contents'>,
  notes?: PathNotes,
): InputItem[] {
  const writer = new InputWriter(notes);
  if (system && typeof system === 'object') writer.addSystem((system.parts ?? []) as GeminiPart[]);
  for (const [index, content] of contents.entries()) writer.addContent(content, index);
  writer.end();
  return writer.items as InputItem[]; // each has the shape of its kind
}

/** Whether a content has the same result twice. Gemini CLI repeats the results of a session that it resumes. */
function isRepeated(part: GeminiPart, { id }: Result, results: Map<string, GeminiPart>): boolean {
  if (!id) return false;
  const first = results.get(id);
  if (first) return isDeepStrictEqual(first, part);
  results.set(id, part);
  return false;
}

class InputWriter {
  readonly items: Item[] = [];
  private readonly notes: PathNotes | undefined;
  /** Parts of the message in progress. */
  private parts: Item[] | undefined;
  /** Thoughts that a signature may belong to. */
  private thoughts = '';
  /** Whether the last content is of the model. Clients keep each event of a stream as a content of its own. */
  private isOfModel = false;
  private path = '';
  /** Ids of the calls without a result, by name, in order. */
  private readonly open = new Map<string, string[]>();

  constructor(notes: PathNotes | undefined) {
    this.notes = notes;
  }

  addSystem(parts: readonly GeminiPart[]): void {
    for (const [index, part] of parts.entries()) this.addPart('system', part, `systemInstruction.parts[${index}]`);
    this.parts = undefined;
  }

  addContent({ role, parts }: GeminiContentBody, index: number): void {
    const path = `contents[${index}]`;
    const isModel = role === 'model';
    if (!isModel || !this.isOfModel) this.end();
    this.isOfModel = isModel;
    this.path = path;
    const results = new Map<string, GeminiPart>();
    for (const [at, part] of (parts ?? []).entries()) {
      const place = `${path}.parts[${at}]`;
      if (isModel) this.addModelPart(part, place, `${index}_${at}`);
      else if (part.functionResponse) {
        if (!isRepeated(part, part.functionResponse, results)) this.addResult(part, part.functionResponse, place);
      } else this.addPart('user', part, place);
    }
    if (!parts?.length) this.addItem({ type: 'message', role: isModel ? 'assistant' : 'user', content: [] }, path);
  }

  /** Ends a turn. */
  end(): void {
    this.flushThoughts(this.path);
    this.parts = undefined;
  }

  private addItem(item: Item, path: string): void {
    this.notes?.add(`input[${this.items.length}]`, path);
    this.items.push(item);
    this.parts = undefined;
  }

  private note(ours: string, part: Pick<GeminiPart, 'fileData'>, path: string): void {
    this.notes?.add(ours, path);
    this.notes?.add(`${ours}.displayName`, `${path}.${part.fileData ? 'fileData' : 'inlineData'}.displayName`);
  }

  private addPart(role: 'user' | 'assistant' | 'system', part: GeminiPart, path: string): void {
    const written = writePart(role, part);
    if (!written) return;
    if (!this.parts) {
      const content: Item[] = [];
      this.addItem({ type: 'message', role, content }, path.replace(/\.parts\[\d+\]$/, ''));
      this.parts = content;
    }
    const last = this.parts.at(-1);
    if (role === 'assistant' && isPlainText(last) && isPlainText(written)) {
      last['text'] = `${String(last['text'])}${String(written['text'])}`; // pieces of a stream
      return;
    }
    this.note(`input[${this.items.length - 1}].content[${this.parts.length}]`, part, path);
    this.parts.push(written);
  }

  private addModelPart(part: GeminiPart, path: string, id: string): void {
    const { thoughtSignature: given } = part;
    if (part.thought === true && !part.functionCall) {
      this.thoughts += part.text ?? '';
      if (given) this.openSignature(given, path, part.text ? { of: 'text' } : undefined);
      return;
    }
    const signature = given && given !== noSignature ? given : undefined;
    const sealed = signature && readSealedBytes(signature);
    if (sealed) this.addSealed(sealed, path);
    const { functionCall: call } = part;
    if (call) {
      if (signature && !sealed) this.addSigned(signature, path);
      this.flushThoughts(path);
      this.addCall(part, call, path, id);
      return;
    }
    this.flushThoughts(path);
    const { inlineData: image } = part;
    if (image?.mimeType.startsWith('image/')) {
      this.addItem({ type: 'image_generation_call', status: 'completed', result: image.data }, path);
    } else this.addPart('assistant', part, path);
    if (signature && !sealed) this.addSigned(signature, path, part.text ? { of: 'text' } : undefined);
  }

  private openSignature(signature: string, path: string, native: Fields | undefined): void {
    const sealed = readSealedBytes(signature);
    if (sealed === undefined) this.addSigned(signature, path, native);
    else this.addSealed(sealed, path);
  }

  /** Adds what the gateway has sealed: reasoning of another provider, or an item of a tool that it ran. */
  private addSealed(sealed: string, path: string): void {
    const item = openSeal(sealed);
    if (!item) return;
    const type = String(item['type']);
    if (type !== 'reasoning' && spokenTypes.has(type)) return;
    if (type === 'reasoning') this.thoughts = ''; // the item has its texts
    this.addItem(item as Item, path);
  }

  /** Adds a signature of the provider of this format, with the thoughts before it. */
  private addSigned(signature: string, path: string, native?: Fields): void {
    const item = { ...this.takeThoughts(), encrypted_content: signature, format: signatureFormat };
    this.addItem({ ...item, ...(native && { [NATIVE_FIELD]: native }) } as Item, path);
  }

  private flushThoughts(path: string): void {
    if (this.thoughts !== '') this.addItem(this.takeThoughts() as unknown as Item, path);
  }

  private takeThoughts(): ReasoningItem {
    const { thoughts: text } = this;
    const summary = text === '' ? [] : [{ type: 'summary_text' as const, text }];
    this.thoughts = '';
    return { type: 'reasoning', summary };
  }

  private addCall(part: GeminiPart, { id: given, name, args, ...inner }: Call, path: string, place: string): void {
    const id = given || `call_${place}`;
    const waiting = this.open.get(name);
    if (waiting) waiting.push(id);
    else this.open.set(name, [id]);
    const item = { type: 'function_call', call_id: id, name, arguments: JSON.stringify(args ?? {}) };
    const own = { ...inner, ...(!given && { id: null }) };
    this.addItem(withNative(item, { ...restOf(part, 'functionCall'), ...(isFilled(own) && { inner: own }) }), path);
  }

  private addResult(part: GeminiPart, result: Result, path: string): void {
    const { id: given, name: named, response, parts, ...inner } = result;
    const name = named || this.nameOf(given || undefined);
    const id = this.closeCall(name, given || undefined);
    const output = writeResponse(response);
    const media = (parts ?? []).flatMap((each) => writePart('user', each as GeminiPart) ?? []);
    const at = this.items.length;
    for (const index of media.keys()) {
      this.note(`input[${at}].output[${index + 1}]`, parts![index]!, `${path}.functionResponse.parts[${index}]`);
    }
    const item: Item = {
      type: 'function_call_output',
      call_id: id,
      output: media.length === 0 ? output : [{ type: 'input_text', text: output }, ...media],
    };
    const own = { ...inner, name, ...(!given && { id: null }), ...(media.length > 0 && { parts: true }) };
    this.addItem(withNative(item, { ...restOf(part, 'functionResponse', false), inner: own }), path);
  }

  /** Returns the name of the call with an id, otherwise that of the first call without a result. */
  private nameOf(id: string | undefined): string {
    const waiting = [...this.open].filter(([, ids]) => ids.length > 0);
    return (waiting.find(([, ids]) => id !== undefined && ids.includes(id)) ?? waiting[0])?.[0] ?? '';
  }

  /** Finds the call of a result: by its id, otherwise the first one without a result that has the name. */
  private closeCall(name: string, id: string | undefined): string {
    const waiting = this.open.get(name);
    const at = id === undefined ? -1 : (waiting?.indexOf(id) ?? -1);
    const found = waiting?.splice(Math.max(0, at), 1)[0];
    return found ?? id ?? name;
  }
}

const isPlainText = (part: Item | undefined): part is Item =>
  part?.type === 'output_text' && part[NATIVE_FIELD] === undefined;

/** A result that is only a text is one in other formats, too. The wire of this format reads both in the same way. */
function writeResponse(response: Fields | null | undefined): string {
  const { output } = response ?? {};
  const isText = typeof output === 'string' && !output.trimStart().startsWith('{') && isOnly(response!, 'output');
  return isText ? output : JSON.stringify(response ?? {});
}

const isOnly = (object: Fields, name: string): boolean => Object.keys(object).every((each) => each === name);
const isFilled = (object: Fields): boolean => Object.keys(object).length > 0;

const withNative = <Written extends object>(written: Written, native: Fields): Written =>
  isFilled(native) ? { ...written, [NATIVE_FIELD]: native } : written;

/** Returns the fields of a part that have a value, without the one that its kind has. */
function restOf(part: GeminiPart, known: string, isOfModel = true): Fields {
  const rest: Fields = {};
  for (const [name, value] of Object.entries(part)) {
    if (name === known || (isOfModel && name === 'thoughtSignature') || value === undefined || value === null) continue;
    if (name === 'thought' && value === false) continue;
    rest[name] = value;
  }
  return rest;
}

/** @returns undefined for a part without content */
function writePart(role: 'user' | 'assistant' | 'system', part: GeminiPart): Item | undefined {
  const { text, inlineData: blob, fileData: file } = part;
  if (typeof text === 'string') {
    const rest = restOf(part, 'text', role === 'assistant');
    if (text === '' && role === 'assistant' && !isFilled(rest)) return undefined; // the end of a stream
    return withNative({ type: role === 'assistant' ? 'output_text' : 'input_text', text }, rest);
  }
  if (role === 'user' && blob) {
    const { data, ...inner } = blob;
    const written = writeMedia(blob.mimeType, `data:${blob.mimeType};base64,${data}`, data, blob.displayName);
    return withNative(written, { ...restOf(part, 'inlineData', false), inner: unnamed(inner, written) });
  }
  if (role === 'user' && file) {
    const { fileUri, ...inner } = file;
    const written = writeMedia(file.mimeType ?? '', fileUri, undefined, file.displayName);
    return withNative(written, { ...restOf(part, 'fileData', false), inner: unnamed(inner, written) });
  }
  const kind = Object.keys(part).find((name) => name !== 'thought' && name !== 'thoughtSignature');
  if (kind === undefined) return undefined;
  const isOwn = part.thoughtSignature && readSealedBytes(part.thoughtSignature) !== undefined;
  return { type: `gemini:${kind}`, block: isOwn ? { ...part, thoughtSignature: undefined } : part };
}

/** Leaves out a name that the part has itself. */
const unnamed = ({ displayName, ...inner }: Fields, { filename }: Item): Fields =>
  filename === undefined || filename !== displayName ? { ...inner, ...(displayName ? { displayName } : {}) } : inner;

const audioFormats: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/mpeg', 'mp3'],
]);

/** @param data base64; undefined for an address */
function writeMedia(mimeType: string, url: string, data: string | undefined, name: string | null | undefined): Item {
  const type = mimeType.toLowerCase();
  const isFilm = /^https:\/\/(?:www\.)?(?:youtube\.com|youtu\.be)\//.test(url);
  if (type.startsWith('image/')) return { type: 'input_image', image_url: url };
  if (type.startsWith('video/') || isFilm) return { type: 'input_video', video_url: url };
  const format = audioFormats.get(type);
  if (format && data !== undefined) return { type: 'input_audio', input_audio: { data, format } };
  if (data === undefined) return { type: 'input_file', file_url: url, ...(name && { filename: name }) };
  return { type: 'input_file', file_data: url, filename: name || UNTITLED_DOCUMENT };
}
