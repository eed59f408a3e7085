import type { Special } from '../domain/endpoint.ts';
import { estimateMedia } from '../domain/estimate-media.ts';
import { estimateTokens } from '../domain/estimate-tokens.ts';
import { type InputItem, isKnownPart, isServerItem, itemTypes, partHolders, replayedTypes } from '../domain/items.ts';
import { isStoredFileId } from '../domain/stored-file.ts';

/** Maximum number of kinds in each list of specials. Each kind is compared with every endpoint of a model. */
export const MAX_SPECIALS = 50;

/** The facts about an input that planning, reserving and sending need. */
export interface WalkedInput {
  /** The input modalities besides text: `image`, `file`, `audio`, `video`. */
  readonly modalities: ReadonlySet<string>;
  /** Length of the text in UTF-16 units. */
  readonly characters: number;
  /** Estimated tokens of the text. */
  readonly tokens: number;
  readonly images: number;
  /** Estimated tokens of images and files. */
  readonly mediaTokens: number;
  /** Whether a file is given by its id alone. */
  readonly hasFileIds: boolean;
  /** Kinds of items and parts that not every wire supports. */
  readonly specials: readonly Special[];
  /** Whether the input contains calls of tools that the gateway can run, or of MCP servers. */
  readonly hasServerItems: boolean;
  /** Whether a part names a stored file of the gateway. */
  readonly namesStoredFiles: boolean;
}

/** Several stages read the same input, which is never changed in place. */
const walkedInputs = new WeakMap<readonly InputItem[], WalkedInput>();

/** Walks all items of an input, at most once per input. */
export function walkInput(input: readonly InputItem[]): WalkedInput {
  let walked = walkedInputs.get(input);
  if (!walked) {
    walked = new InputWalk(input);
    walkedInputs.set(input, walked);
  }
  return walked;
}

interface Part {
  type?: string;
  text?: string;
  file_data?: unknown;
  file_url?: unknown;
  file_id?: unknown;
}

interface AnyItem {
  type: string;
  content?: unknown;
  output?: unknown;
  arguments?: unknown;
}

/** Known kinds of items, each with the field that has its parts, and whether the gateway can run its tool. */
const knownItems = new Map(
  [...itemTypes].map((type) => [
    type,
    { isRun: type.startsWith('mcp_') || replayedTypes.has(type), holder: partHolders.get(type) },
  ]),
);

const partModalities: ReadonlyMap<string | undefined, string> = new Map([
  ['input_image', 'image'],
  ['input_file', 'file'],
  ['input_audio', 'audio'],
  ['input_video', 'video'],
]);

class InputWalk implements WalkedInput {
  readonly modalities = new Set<string>();
  characters = 0;
  readonly tokens: number;
  images = 0;
  mediaTokens = 0;
  hasFileIds = false;
  hasServerItems = false;
  namesStoredFiles = false;
  private readonly kinds = new Map<string, Special>();

  constructor(input: readonly InputItem[]) {
    const texts: string[] = [];
    for (const item of input as readonly AnyItem[]) this.walkItem(item, texts);
    for (const { length } of texts) this.characters += length;
    this.tokens = estimateTokens(texts);
  }

  get specials(): readonly Special[] {
    return [...this.kinds.values()];
  }

  private walkItem(item: AnyItem, texts: string[]): void {
    const known = knownItems.get(item.type);
    if (known ? known.isRun : isServerItem(item)) this.hasServerItems = true;
    else if (!known) {
      this.note('item', item.type);
      texts.push(JSON.stringify(item, omitData)); // only the provider knows how much of it the model reads
      return;
    }
    if (item.content) this.walkContent(item.content, known?.holder === 'content', texts);
    if (item.output) this.walkContent(item.output, known?.holder === 'output', texts);
    if (typeof item.arguments === 'string') texts.push(item.arguments);
  }

  /** @param hasKnownParts whether the gateway knows all kinds of parts of this field */
  private walkContent(content: unknown, hasKnownParts: boolean, texts: string[]): void {
    if (typeof content === 'string') {
      texts.push(content);
      return;
    }
    if (!Array.isArray(content)) return;
    for (const part of content as (Part | null)[]) {
      if (typeof part !== 'object' || part === null) continue; // unknown items may contain anything
      const { type, text } = part;
      if (type !== 'input_text' && type !== 'output_text') {
        if (hasKnownParts && type !== undefined && !isKnownPart({ type })) this.note('part', type);
        if (this.walkMedia(part)) continue;
      }
      if (typeof text === 'string') texts.push(text);
    }
  }

  /** @returns false if the part is not an image, a file, audio or video */
  private walkMedia(part: Part): boolean {
    const modality = partModalities.get(part.type);
    if (modality === undefined) return false;
    this.modalities.add(modality);
    if (modality === 'image') this.images++;
    if (modality === 'file') this.hasFileIds ||= !part.file_data && !part.file_url;
    this.mediaTokens += estimateMedia(part) ?? 0;
    this.namesStoredFiles ||= isStoredFileId(part.file_id);
    return true;
  }

  private note(what: Special['what'], type: string): void {
    if (this.kinds.size < MAX_SPECIALS) this.kinds.set(`${what} ${type}`, { what, type });
  }
}

/** The base64 of an image or a file does not count as text. */
const omitData = (_key: string, value: unknown): unknown =>
  typeof value === 'string' && value.startsWith('data:') ? undefined : value;
