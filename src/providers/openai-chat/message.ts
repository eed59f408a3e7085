import type { Chunk } from '../../domain/chunks.ts';
import { readDataUrl } from '../../domain/data-url.ts';
import { claudeFormat, signatureFormat } from '../../domain/thought-signature.ts';
import { invalidUpstreamData } from '../kit/invalid-data.ts';
import { type MarkedPart, MarkedCalls } from '../kit/marked-calls.ts';
import { ThinkTags } from '../kit/think-tags.ts';
import { readAnnotation, readCitations } from './annotations.ts';
import { placeDetails, readReasoningDetails } from './reasoning-details.ts';
import { CallReader } from './tool-calls.ts';
import type { ReasoningDetail } from '../../domain/reasoning-details.ts';
import type { ChatDelta, ChatToolCallPiece, ReaderContext } from './wire.ts';

/** The sources that a server sends outside the message, and whether the token limit truncated the response. */
export interface MessageEnd {
  citations: unknown;
  searchResults: unknown;
  cut: boolean;
}

/** The index of the first call that is written in a text. No server has negative ones, and `function_call` has -1. */
const MARKED_INDEX = -2;

/**
 * Reads the deltas of a message, or the message as one delta. Adds the names of fields that it cannot carry to
 * `dropped`.
 */
export class MessageReader {
  private readonly dropped: Set<string>;
  private readonly readerContext: ReaderContext;
  private calls: CallReader | undefined; // most responses have none
  private images = 0;
  private readonly annotations = new Set<string>();
  /** The last signature of Gemini in `reasoning_details`. */
  private signature: string | undefined;
  private annotated = false;
  private readonly thinking: ThinkTags | undefined;
  private readonly marked: Record<'text' | 'reasoning', MarkedCalls> | undefined;
  private markedCount = 0;
  private isThinking = false; // reasoning without a signature so far
  private textIsLast = false; // a text part is in progress, which annotations can join

  constructor(readerContext: ReaderContext, dropped: Set<string>) {
    this.readerContext = readerContext;
    this.dropped = dropped;
    const { thinkTags, thinkOpened, markedCalls } = readerContext;
    this.thinking = thinkTags || thinkOpened ? new ThinkTags(thinkOpened) : undefined;
    if (markedCalls) this.marked = { text: new MarkedCalls(markedCalls), reasoning: new MarkedCalls(markedCalls) };
  }

  /** @see Reader.keptLength */
  get keptLength(): number {
    const { text, reasoning } = this.marked ?? {};
    return (this.calls?.keptLength ?? 0) + (text?.keptLength ?? 0) + (reasoning?.keptLength ?? 0);
  }

  /** Whether a delta that contains only text can be a part of the reasoning or of a call. */
  get isSplitting(): boolean {
    return this.thinking?.isOver === false || this.marked !== undefined;
  }

  get hasCalls(): boolean {
    return this.calls !== undefined;
  }

  /** Whether no call lacks its name or a part of its arguments. */
  get hasWholeCalls(): boolean {
    return this.calls?.areWhole ?? true;
  }

  /** Reads a delta that contains only text. */
  readText(delta: string): Chunk {
    this.textIsLast = true;
    return { type: 'text', delta };
  }

  /**
   * @param delta a delta or the complete message
   * @param how.logprobs log probabilities of the choice, which belong to the text
   */
  read(delta: ChatDelta, how: { logprobs: unknown; isWhole: boolean }, chunks: Chunk[]): void {
    const { logprobs, isWhole } = how;
    let content: unknown;
    let refusal = '';
    let reasoning: unknown;
    let details: unknown[] | undefined;
    let blocks: unknown[] | undefined;
    let annotations: unknown[] | undefined;
    let images: unknown[] | undefined;
    let pieces: unknown[] | undefined;
    for (const key in delta) {
      const value = delta[key];
      if (value === null || value === '') continue;
      switch (key) {
        case 'role':
          break;
        case 'content':
          content = value;
          break;
        case 'refusal':
          if (typeof value === 'string') refusal = value;
          else this.dropped.add('message.refusal');
          break;
        case 'reasoning_content':
        case 'reasoning': // servers that send both repeat the text
          if (reasoning !== undefined && reasoning !== value) this.dropped.add(`message.${key}`);
          else reasoning = value;
          break;
        case 'reasoning_details':
          details = this.readList(key, value);
          break;
        case 'thinking_blocks':
          blocks = this.readList(key, value);
          break;
        case 'annotations':
          annotations = this.readList(key, value);
          break;
        case 'images':
          images = this.readList(key, value);
          break;
        case 'tool_calls':
          // Hugging Face TGI before version 3 streams one object, its `ToolCallDelta`.
          pieces = this.readList(key, Array.isArray(value) || typeof value !== 'object' ? value : [value]);
          break;
        case 'function_call': // the format before `tool_calls`, without index and id
          pieces = [{ index: -1, function: value }];
          break;
        default:
          if (!Array.isArray(value) || value.length > 0) this.dropped.add(`message.${key}`);
      }
    }

    // The fields of a buffered message have no order. A model reasons, then writes, then calls tools.
    let late: Map<string, Chunk[]> | undefined;
    if (details === undefined && blocks !== undefined) reasoning = this.readThinking(blocks, reasoning, chunks);
    if (details !== undefined || reasoning !== undefined)
      late = this.readReasoning(reasoning, { details, calls: pieces }, chunks);
    if (typeof content === 'string') this.addText(content, chunks);
    else if (Array.isArray(content)) this.readParts(content, typeof reasoning === 'string', chunks);
    else if (content !== undefined) {
      throw invalidUpstreamData(`The provider sent a message whose content is of type ${typeof content}.`);
    }
    if (typeof logprobs === 'object' && logprobs !== null) this.readLogprobs(logprobs, chunks);
    else if (logprobs) this.dropped.add('logprobs');
    if (annotations) {
      for (const annotation of annotations)
        this.annotated =
          readAnnotation(annotation, chunks, { seen: this.annotations, dropped: this.dropped }) || this.annotated;
    }
    if (refusal !== '') {
      this.textIsLast = false;
      chunks.push({ type: 'refusal', delta: refusal });
    }
    if (images) for (const image of images) this.addImage(image, chunks);
    if (pieces) {
      for (const [place, piece] of (pieces as ChatToolCallPiece[]).entries()) {
        this.textIsLast = false;
        for (const block of late?.get(String(piece?.id)) ?? []) this.pushBlock(block, chunks);
        this.calls ??= new CallReader(this.readerContext, this.dropped);
        this.calls.read(piece ?? {}, chunks, { place: isWhole ? place : undefined, signature: this.signature });
      }
    }
  }

  /** Adds the chunks that waited for the end: sources, and calls without an id. */
  end(chunks: Chunk[], { citations, searchResults, cut }: MessageEnd): void {
    const last: Chunk[] = [];
    this.thinking?.end(last);
    for (const chunk of last) this.push(chunk, chunks);
    if (this.marked) {
      this.pushParts('reasoning', this.marked.reasoning.end(), chunks);
      this.pushParts('text', this.marked.text.end(), chunks);
    }
    readCitations({ citations, searchResults, canAnnotate: this.textIsLast && !this.annotated }, chunks, this.dropped);
    this.calls?.end(chunks, cut);
  }

  /** @returns the reasoning before each call that a block names, by the id of the call */
  private readReasoning(
    plain: unknown,
    { details, calls }: { details: unknown[] | undefined; calls: unknown[] | undefined },
    chunks: Chunk[],
  ): Map<string, Chunk[]> | undefined {
    const blocks: Chunk[] = [];
    const { first, late } = placeDetails((details ?? []) as ReasoningDetail[], calls ?? []);
    let hasText = readReasoningDetails(first, blocks, this.dropped);
    let before: Map<string, Chunk[]> | undefined;
    for (const [call, list] of late ?? []) {
      const own: Chunk[] = [];
      hasText = readReasoningDetails(list, own, this.dropped) || hasText;
      before ??= new Map();
      before.set(call, own);
    }
    if (typeof plain === 'string') {
      if (!hasText) this.addReasoning(plain, chunks); // before its seal
    } else if (plain !== undefined) this.dropped.add('message.reasoning');
    if (blocks.length > 0) this.textIsLast = false;
    for (const block of blocks) this.pushBlock(block, chunks);
    return before;
  }

  private pushBlock(block: Chunk, chunks: Chunk[]): void {
    if (block.type === 'reasoning_seal' && block.format === signatureFormat) this.signature = block.encryptedContent;
    chunks.push(block);
  }

  /**
   * Reads blocks of thinking of Claude. A block repeats the text that came before its signature: open-webui/open-webui#29860.
   *
   * @param plain the text of all blocks of the delta
   * @returns the text that no block has
   */
  private readThinking(blocks: unknown[], plain: unknown, chunks: Chunk[]): unknown {
    let rest = plain;
    for (const block of blocks as (Record<string, unknown> | null)[]) {
      const { type, thinking, signature, data } = block ?? {};
      const text = typeof thinking === 'string' ? thinking : '';
      if (type === 'redacted_thinking' && typeof data === 'string') {
        this.isThinking = false;
        chunks.push({ type: 'reasoning_seal', format: claudeFormat, encryptedContent: data });
      } else if (type === 'thinking' && signature && typeof signature === 'string') {
        if (!this.isThinking) this.addReasoning(text, chunks);
        else if (typeof rest === 'string') this.addReasoning(rest, chunks); // the last piece
        this.isThinking = false;
        chunks.push({ type: 'reasoning_seal', format: claudeFormat, signature });
        rest = undefined;
      } else if (type === 'thinking') rest ??= text;
      else this.dropped.add(`message.thinking_blocks[] (${String(type)})`);
    }
    return rest;
  }

  private addText(delta: string, chunks: Chunk[]): void {
    if (delta === '') return;
    this.textIsLast = true;
    if (this.thinking?.isOver === false) {
      const split: Chunk[] = [];
      this.thinking.read(delta, split);
      for (const chunk of split) this.push(chunk, chunks);
    } else this.push({ type: 'text', delta }, chunks);
  }

  /** Adds a chunk of text or reasoning, without the calls that are written in it. */
  private push(chunk: Chunk, chunks: Chunk[]): void {
    if (this.marked && (chunk.type === 'text' || chunk.type === 'reasoning'))
      this.pushParts(chunk.type, this.marked[chunk.type].read(chunk.delta), chunks);
    else chunks.push(chunk);
  }

  private pushParts(type: 'text' | 'reasoning', parts: readonly MarkedPart[], chunks: Chunk[]): void {
    for (const part of parts) {
      if (typeof part === 'string') {
        chunks.push({ type, delta: part });
        continue;
      }
      const { id, ...called } = part;
      this.textIsLast = false;
      this.calls ??= new CallReader(this.readerContext, this.dropped);
      this.calls.read({ index: MARKED_INDEX - this.markedCount++, id, function: called }, chunks);
    }
  }

  private addReasoning(delta: string, chunks: Chunk[]): void {
    if (delta === '') return;
    this.textIsLast = false;
    this.isThinking = true;
    this.thinking?.close();
    this.push({ type: 'reasoning', delta }, chunks);
  }

  /**
   * Reads a list of parts, the format in which Mistral sends text, thinking and references.
   *
   * @param hasReasoning whether a field beside the content has the thinking, too: mistralai/mistral-vibe#1119
   */
  private readParts(parts: unknown[], hasReasoning: boolean, chunks: Chunk[]): void {
    for (const part of parts as Record<string, unknown>[]) {
      if (typeof part?.text === 'string' && part.type === 'text') this.addText(part.text, chunks);
      else if (part?.type === 'reasoning' && Array.isArray(part.summary)) {
        // Databricks
        for (const thought of part.summary) {
          if (typeof thought?.text === 'string') this.addReasoning(thought.text, chunks);
          else this.dropped.add(`message.content[].summary[] (${thought?.type})`);
        }
      } else if (part?.type === 'thinking' && Array.isArray(part.thinking)) {
        if (hasReasoning) continue;
        for (const thought of part.thinking) {
          if (typeof thought?.text === 'string') this.addReasoning(thought.text, chunks);
          else this.dropped.add(`message.content[].thinking[] (${thought?.type})`);
        }
      } else if (part?.type === 'image_url') this.addImage(part, chunks);
      else this.dropped.add(`message.content[] (${part?.type})`);
    }
  }

  private addImage(image: unknown, chunks: Chunk[]): void {
    const { image_url: place } = (image ?? {}) as { image_url?: string | { url?: string } };
    const url = typeof place === 'string' ? place : place?.url;
    if (typeof url !== 'string') {
      this.dropped.add('message.images[] (without a URL)');
      return;
    }
    const read = readDataUrl(url);
    const item = { type: 'image_generation_call', status: 'completed' };
    // `result` cannot contain a link, and the link must not be lost: choice 59.
    const whole = read?.isBase64 ? { ...item, result: read.data } : { ...item, result: null, url };
    this.textIsLast = false;
    chunks.push({ type: 'item_done', key: `image-${this.images++}`, item: whole });
  }

  private readList(key: string, value: unknown): unknown[] | undefined {
    if (Array.isArray(value)) return value;
    this.dropped.add(`message.${key}`);
    return undefined;
  }

  private readLogprobs(logprobs: object, chunks: Chunk[]): void {
    const { content } = logprobs as { content?: unknown };
    const entries = Array.isArray(content) ? content.map(readLogprob) : [];
    for (const key in logprobs) {
      const value = logprobs[key as keyof typeof logprobs] as unknown;
      if (value === null || (Array.isArray(value) && (key === 'content' || value.length === 0))) continue;
      this.dropped.add(`logprobs.${key}`);
    }
    if (entries.length === 0) return;
    const text = chunks.findLast((chunk) => chunk.type === 'text');
    if (text === undefined) chunks.push({ type: 'text', delta: '', logprobs: entries });
    else text.logprobs = entries;
  }
}

/** Reads a log probability. The interface requires all four fields. */
function readLogprob(entry: Record<string, unknown>): Record<string, unknown> {
  const { token, logprob, bytes, top_logprobs: top } = entry;
  return { token, logprob, bytes: bytes ?? [], top_logprobs: Array.isArray(top) ? top.map(readAlternative) : [] };
}

const readAlternative = ({ token, logprob, bytes }: Record<string, unknown>) => ({
  token,
  logprob,
  bytes: bytes ?? [],
});
