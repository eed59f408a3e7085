import type { Chunk } from '../../domain/chunks.ts';
import { parseJson } from '../../domain/parse-json.ts';
import type { OutputItem } from '../../domain/items.ts';
import { NATIVE_FIELD } from '../../domain/native.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { OpenCall, takeCallId } from '../kit/open-call.ts';
import { invalidUpstreamData } from '../kit/invalid-data.ts';
import { readCitation } from './citations.ts';
import { claudeFormat } from '../../domain/thought-signature.ts';
import type { ResponseBlock, ReaderContext } from './wire.ts';

/** A search at the provider. Its query arrives in pieces. Its results arrive in a separate block. */
interface Search {
  id: string;
  input: string;
}

/** Reads the content blocks of a message. They arrive one after another. Some servers interleave calls. */
export class BlockReader {
  private readonly readerContext: ReaderContext;
  private readonly dropped: Set<string>;
  private kind = '';
  private index: unknown;
  private readonly calls = new Map<unknown, OpenCall>(); // by the block's index
  private readonly callIds = new Set<string>();
  private signature = '';
  private isSilent = true;
  private items = 0;
  private citations: unknown[] = [];
  /** UTF-16 units of the message in progress: all so far, and those before the block in progress. */
  private textLength = 0;
  private textStart = 0;
  private search: Search | undefined;
  /** The block in progress that is passed on unchanged, and the pieces of its input. */
  private kept: ResponseBlock | undefined;
  private keptInput = '';
  private readonly searches = new Map<string, Search>();

  constructor(readerContext: ReaderContext, dropped: Set<string>) {
    this.readerContext = readerContext;
    this.dropped = dropped;
  }

  /** Whether the client has the same format. */
  private get keeps(): boolean {
    return this.readerContext.keepsBlocks === true;
  }

  get isText(): boolean {
    return this.kind === 'text';
  }

  /** Handles the start of a block, or a complete block. */
  open(block: ResponseBlock, index: unknown, chunks: Chunk[]): void {
    if (this.kind !== 'tool_use' || this.index === index) this.close(this.index, chunks); // if its end is missing
    const { type } = block;
    this.kind = String(type);
    this.index = index;
    switch (type) {
      case 'text':
        this.textStart = this.textLength;
        this.citations = Array.isArray(block.citations) ? [...block.citations] : [];
        if (typeof block.text === 'string' && block.text !== '') chunks.push(this.readText(block.text));
        break;
      case 'thinking':
        this.signature = '';
        this.isSilent = true;
        this.addThought(block.thinking, chunks);
        if (typeof block.signature === 'string') this.signature = block.signature;
        break;
      case 'redacted_thinking':
        this.addReasoning({ encrypted_content: String(block.data ?? '') }, chunks);
        break;
      case 'tool_use':
        this.openCall(block, chunks);
        break;
      case 'server_tool_use':
        if (this.keeps) this.kept = { ...block };
        else this.openSearch(block);
        break;
      case 'web_search_tool_result':
        if (this.keeps) this.kept = { ...block };
        else this.addResults(block, chunks);
        break;
      default:
        if (this.keeps) this.kept = { ...block };
        else this.dropped.add(`content[] (${String(type)})`);
    }
  }

  /** Reads a text delta of a frame that contains nothing else. */
  readText(delta: string): Chunk {
    this.textLength += delta.length;
    return { type: 'text', delta };
  }

  add(delta: Record<string, unknown>, index: unknown, chunks: Chunk[]): void {
    switch (delta.type) {
      case 'text_delta':
        if (typeof delta.text === 'string' && delta.text !== '') chunks.push(this.readText(delta.text));
        break;
      case 'input_json_delta':
        if (typeof delta.partial_json === 'string') this.addInput(delta.partial_json, index, chunks);
        break;
      case 'thinking_delta':
        this.addThought(delta.thinking, chunks);
        break;
      case 'signature_delta':
        this.signature += String(delta.signature ?? '');
        break;
      case 'citations_delta':
        this.citations.push(delta.citation);
        break;
      default:
        if (!this.kept || !appendDelta(this.kept, delta)) this.dropped.add(`content[].${String(delta.type)}`);
    }
  }

  private addInput(json: string, index: unknown, chunks: Chunk[]): void {
    const call = this.calls.get(index);
    if (call) call.push(json, chunks);
    else if (this.kept) this.keptInput += json;
    else if (this.search) this.search.input += json;
  }

  /** Closes the open blocks at the end of the message. @param cut by the token limit */
  end(chunks: Chunk[], cut: boolean): void {
    if (this.kind !== 'tool_use') this.close(this.index, chunks);
    for (const call of this.calls.values()) call.end(chunks, cut);
    this.calls.clear();
  }

  /** Closes a complete block. */
  close(index: unknown, chunks: Chunk[]): void {
    this.calls.get(index)?.end(chunks);
    this.calls.delete(index);
    if (index === this.index) this.closeOpen(chunks);
  }

  private closeOpen(chunks: Chunk[]): void {
    switch (this.kind) {
      case 'text':
        for (const citation of this.citations) {
          const cited = { start: this.textStart, end: this.textLength };
          const annotation = readCitation(citation, cited, this.dropped, this.keeps);
          if (annotation) chunks.push({ type: 'annotation', annotation });
        }
        this.citations = [];
        if (this.keeps) {
          chunks.push({ type: 'part_end' }); // the client gets the blocks as they are
          this.textLength = 0;
        }
        break;
      case 'thinking':
        if (this.signature === '') break;
        // A provider may omit the thought and send only its signature.
        if (this.isSilent) this.addReasoning({ signature: this.signature }, chunks);
        else chunks.push({ type: 'reasoning_seal', format: claudeFormat, signature: this.signature });
        break;
      case 'server_tool_use':
        this.search = undefined;
        break;
    }
    if (this.kept) this.addKept(this.kept, chunks);
    this.kind = '';
  }

  /** Adds a block that only this format has as a separate item. */
  private addKept(block: ResponseBlock, chunks: Chunk[]): void {
    const input = this.keptInput === '' ? undefined : parseObject(this.keptInput, 'arguments');
    if (input) block.input = input;
    this.kept = undefined;
    this.keptInput = '';
    const item = { type: `anthropic:${String(block.type)}`, block };
    this.addItem(`block-${this.items}`, item, {}, chunks);
  }

  private addThought(text: unknown, chunks: Chunk[]): void {
    if (typeof text !== 'string' || text === '') return;
    this.isSilent = false;
    this.textLength = 0; // the next text starts a new message
    chunks.push({ type: this.readerContext.summarizes ? 'reasoning_summary' : 'reasoning', delta: text });
  }

  /** Adds reasoning without text. */
  private addReasoning(fields: object, chunks: Chunk[]): void {
    this.addItem(
      `reasoning-${this.items}`,
      { type: 'reasoning', summary: [] },
      { format: claudeFormat, ...fields },
      chunks,
    );
  }

  /** Adds a separate item between the texts before and after it. */
  private addItem(key: string, item: OutputItem, fields: object, chunks: Chunk[]): void {
    this.items++;
    this.textLength = 0;
    chunks.push({ type: 'item', key, item: { ...item, status: 'in_progress' } });
    chunks.push({ type: 'item_done', key, item: { ...item, status: 'completed', ...fields } });
  }

  private openCall(block: ResponseBlock, chunks: Chunk[]): void {
    const { id, name, input } = block;
    if (typeof id !== 'string' || typeof name !== 'string') {
      throw invalidUpstreamData('The provider sent a call without id or name.');
    }
    this.textLength = 0;
    const callId = takeCallId(id, this.callIds);
    const native = this.keeps ? restOf(block) : undefined;
    const call = new OpenCall(
      this.readerContext.tools,
      { callId, name, ...(native && { fields: { [NATIVE_FIELD]: native } }) },
      chunks,
    );
    this.calls.set(this.index, call);
    // A stream starts with an empty object, followed by its pieces.
    if (typeof input === 'object' && input !== null && Object.keys(input).length > 0) {
      call.push(JSON.stringify(input), chunks);
    }
  }

  private openSearch(block: ResponseBlock): void {
    if (block.name !== 'web_search' || typeof block.id !== 'string') {
      this.dropped.add(`content[] (server_tool_use ${String(block.name)})`);
      return;
    }
    const isWhole = typeof block.input === 'object' && block.input !== null && Object.keys(block.input).length > 0;
    this.search = { id: block.id, input: isWhole ? JSON.stringify(block.input) : '' };
    this.searches.set(block.id, this.search);
  }

  /**
   * Adds the results of a search. The interface has no field for the pages. The text cites the excerpts that it uses.
   */
  private addResults(block: ResponseBlock, chunks: Chunk[]): void {
    const id = String(block.tool_use_id ?? '');
    const search = this.searches.get(id);
    const results = Array.isArray(block.content) ? (block.content as Record<string, unknown>[]) : [];
    const failure = Array.isArray(block.content) ? undefined : (block.content as { error_code?: unknown } | undefined);
    if (failure) this.dropped.add(`web_search_tool_result.error_code (${String(failure.error_code)})`);
    if (results.some((result) => result?.encrypted_content)) {
      this.dropped.add('web_search_tool_result.content[].encrypted_content');
    }
    const sources = results.flatMap((result) =>
      typeof result?.url === 'string' ? [{ type: 'url', url: result.url }] : [],
    );
    const action = { type: 'search', query: queryOf(search), sources };
    const item = { type: 'web_search_call', id: `ws_${id}`, action };
    this.addItem(id, item, failure ? { status: 'failed' } : {}, chunks);
  }
}

/** Returns the fields of a call that only the format has. */
function restOf({ type: _type, id: _id, name: _name, input: _input, ...rest }: ResponseBlock): object | undefined {
  return Object.keys(rest).length > 0 ? rest : undefined;
}

/** Appends the texts of a delta of an unknown kind. @returns whether it has any */
function appendDelta(block: ResponseBlock, { type: _, ...fields }: Record<string, unknown>): boolean {
  const texts = Object.entries(fields).filter(([, value]) => typeof value === 'string');
  for (const [name, text] of texts) block[name] = `${String(block[name] ?? '')}${String(text)}`;
  return texts.length > 0;
}

function queryOf(search: Search | undefined): string {
  try {
    const { query } = parseJson(search?.input ?? '{}') as { query?: unknown };
    return typeof query === 'string' ? query : '';
  } catch {
    return '';
  }
}
