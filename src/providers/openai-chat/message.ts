import type { Chunk } from '../../domain/chunks.ts';
import { readAnnotation, readCitations } from './annotations.ts';
import { readReasoningDetails } from './reasoning-details.ts';
import { createCallReader } from './tool-calls.ts';
import type { ChatDelta, ChatToolCallPiece, Reading, ReasoningDetail } from './wire.ts';

/** What a server said about its sources beside the message, and whether the token limit cut the answer. */
export interface MessageEnd {
  citations: unknown;
  searchResults: unknown;
  cut: boolean;
}

/** Reads the deltas of a message, or the message as one delta. Names of what it cannot carry go into `dropped`. */
export function createMessageReader(reading: Reading, dropped: Set<string>) {
  const calls = createCallReader(reading, dropped);
  let images = 0;
  let annotated = false;
  let textIsLast = false; // a text part is in progress, which annotations can join

  function addText(delta: string, chunks: Chunk[]): void {
    if (delta === '') return;
    textIsLast = true;
    chunks.push({ type: 'text', delta });
  }

  function addReasoning(delta: string, chunks: Chunk[]): void {
    if (delta === '') return;
    textIsLast = false;
    chunks.push({ type: 'reasoning', delta });
  }

  /** Mistral sends text, thinking and references as parts. */
  function readParts(parts: unknown[], chunks: Chunk[]): void {
    for (const part of parts as Record<string, unknown>[]) {
      if (typeof part?.text === 'string' && part.type === 'text') addText(part.text, chunks);
      else if (part?.type === 'thinking' && Array.isArray(part.thinking)) {
        for (const thought of part.thinking) {
          if (typeof thought?.text === 'string') addReasoning(thought.text, chunks);
          else dropped.add(`message.content[].thinking[] (${thought?.type})`);
        }
      } else if (part?.type === 'image_url') addImage(part, chunks);
      else dropped.add(`message.content[] (${part?.type})`);
    }
  }

  function addImage(image: unknown, chunks: Chunk[]): void {
    const { image_url: place } = (image ?? {}) as { image_url?: string | { url?: string } };
    const url = typeof place === 'string' ? place : place?.url;
    if (typeof url !== 'string') {
      dropped.add('message.images[] (without a URL)');
      return;
    }
    const data = /^data:[^,]*;base64,/.exec(url);
    const item = { type: 'image_generation_call', status: 'completed' };
    // A link is not what `result` holds, but it must not be lost (choice).
    const whole = data === null ? { ...item, result: null, url } : { ...item, result: url.slice(data[0].length) };
    textIsLast = false;
    chunks.push({ type: 'item_done', key: `image-${images++}`, item: whole });
  }

  function readList(key: string, value: unknown): unknown[] | undefined {
    if (Array.isArray(value)) return value;
    dropped.add(`message.${key}`);
    return undefined;
  }

  function readLogprobs(logprobs: object, chunks: Chunk[]): void {
    const { content } = logprobs as { content?: unknown };
    const entries = Array.isArray(content) ? content.map(readLogprob) : [];
    for (const key in logprobs) {
      const value = logprobs[key as keyof typeof logprobs] as unknown;
      if (value === null || (Array.isArray(value) && (key === 'content' || value.length === 0))) continue;
      dropped.add(`logprobs.${key}`);
    }
    if (entries.length === 0) return;
    const text = chunks.findLast((chunk) => chunk.type === 'text');
    if (text === undefined) chunks.push({ type: 'text', delta: '', logprobs: entries });
    else text.logprobs = entries;
  }

  return {
    hasCalls: () => calls.any,

    /** @param logprobs of the choice, which belong to the text */
    read(delta: ChatDelta, logprobs: unknown, chunks: Chunk[]): void {
      let content: unknown;
      let refusal = '';
      let reasoning: unknown;
      let details: unknown[] | undefined;
      let annotations: unknown[] | undefined;
      let pictures: unknown[] | undefined;
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
            else dropped.add('message.refusal');
            break;
          case 'reasoning_content':
          case 'reasoning': // servers that send both say the same in both
            if (reasoning !== undefined && reasoning !== value) dropped.add(`message.${key}`);
            else reasoning = value;
            break;
          case 'reasoning_details':
            details = readList(key, value);
            break;
          case 'annotations':
            annotations = readList(key, value);
            break;
          case 'images':
            pictures = readList(key, value);
            break;
          case 'tool_calls':
            pieces = readList(key, value);
            break;
          case 'function_call': // the form before `tool_calls`, which has neither index nor id
            pieces = [{ index: -1, function: value }];
            break;
          default:
            if (!Array.isArray(value) || value.length > 0) dropped.add(`message.${key}`);
        }
      }

      // A whole message has no order of its own: a model reasons, speaks, then calls.
      const blocks: Chunk[] = [];
      const told = details !== undefined && readReasoningDetails(details as ReasoningDetail[], blocks, dropped);
      if (typeof reasoning === 'string') {
        if (!told) addReasoning(reasoning, chunks); // before what seals it
      } else if (reasoning !== undefined) dropped.add('message.reasoning');
      if (blocks.length > 0) {
        textIsLast = false;
        chunks.push(...blocks);
      }
      if (typeof content === 'string') addText(content, chunks);
      else if (Array.isArray(content)) readParts(content, chunks);
      else if (content !== undefined) dropped.add('message.content');
      if (typeof logprobs === 'object' && logprobs !== null) readLogprobs(logprobs, chunks);
      else if (logprobs) dropped.add('logprobs');
      if (annotations) {
        for (const annotation of annotations) annotated = readAnnotation(annotation, chunks, dropped) || annotated;
      }
      if (refusal !== '') {
        textIsLast = false;
        chunks.push({ type: 'refusal', delta: refusal });
      }
      if (pictures) for (const picture of pictures) addImage(picture, chunks);
      if (pieces) {
        for (const piece of pieces as ChatToolCallPiece[]) {
          textIsLast = false;
          calls.read(piece ?? {}, chunks);
        }
      }
    },

    /** Gives what was held back: sources, calls that lacked an id. */
    end(chunks: Chunk[], { citations, searchResults, cut }: MessageEnd): void {
      readCitations({ citations, searchResults, canAnnotate: textIsLast && !annotated }, chunks, dropped);
      calls.end(chunks, cut);
    },
  };
}

/** The interface wants all four fields. */
function readLogprob(entry: Record<string, unknown>): Record<string, unknown> {
  const { token, logprob, bytes, top_logprobs: top } = entry;
  return { token, logprob, bytes: bytes ?? [], top_logprobs: Array.isArray(top) ? top.map(readAlternative) : [] };
}

const readAlternative = ({ token, logprob, bytes }: Record<string, unknown>) => ({
  token,
  logprob,
  bytes: bytes ?? [],
});
