import type { Chunk, FinishReason } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { completeCounts, special, type Usage, usage } from '../../domain/usage.ts';
import { DroppedNames } from '../kit/dropped-names.ts';
import { parseUpstream } from '../kit/invalid-data.ts';
import { OpenCall } from '../kit/open-call.ts';
import type { Frame, Reader } from '../wire.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import { readPackageError } from './errors.ts';
import type { Metadata, StreamPart } from './model.ts';
import type { ReaderContext } from './request.ts';
import { writeSeal } from './seal.ts';

/** Reads the parts of a streamed response. Each part is a JSON frame. */
export const createReader = (readerContext: ReaderContext): Reader => new PartReader(readerContext);

/** Reads all parts at once. */
export function readWhole(body: unknown, readerContext: ReaderContext): Chunk[] {
  const reader = new PartReader(readerContext);
  return (Array.isArray(body) ? body : []).flatMap((part) => reader.take(part as StreamPart));
}

class PartReader implements Reader {
  private readonly readerContext: ReaderContext;
  private readonly dropped = new DroppedNames();
  private readonly calls = new Map<string, OpenCall | undefined>(); // undefined: the call is complete
  private readonly thoughts = new Map<string, Metadata>();
  private thought = 0;
  private sources: Chunk[] = [];
  private textIsLast = false;
  private images = 0;
  private usage: Usage | undefined;
  private kept = 0;

  constructor(readerContext: ReaderContext) {
    this.readerContext = readerContext;
  }

  read({ data }: Frame): Chunk[] {
    const part = parseUpstream(data, 'a part') as StreamPart; // an object by the SDK's contract
    const chunks = this.take(part);
    // Sources and the seals of thoughts become part of a later chunk.
    if (chunks.length === 0 || part.providerMetadata) this.kept += data.length;
    return chunks;
  }

  end(): Chunk[] {
    return []; // without `finish`, the stream was truncated
  }

  counted(): Usage | undefined {
    return this.usage;
  }

  keptLength(): number {
    return this.kept;
  }

  take(part: StreamPart): Chunk[] {
    const chunks: Chunk[] = [];
    const id = String(part.id ?? '');
    switch (part.type) {
      case 'text-delta':
        this.textIsLast = true;
        if (part.delta) chunks.push({ type: 'text', delta: part.delta });
        break;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.readThought(part, id, chunks);
        break;
      case 'tool-input-start':
        if (part.providerExecuted) break;
        this.open(id, String(part.toolName), chunks);
        this.sealCall(id, part.providerMetadata, chunks);
        break;
      case 'tool-input-delta':
        this.calls.get(id)?.push(part.delta ?? '', chunks);
        break;
      case 'tool-call':
        this.readCall(part, chunks);
        break;
      case 'source':
        this.readSource(part);
        break;
      case 'file':
        this.readFile(part, chunks);
        break;
      case 'response-metadata':
        if (typeof part.modelId === 'string') chunks.push({ type: 'start', model: part.modelId });
        break;
      case 'stream-start':
        this.readWarnings(part.warnings);
        break;
      case 'finish':
        this.finish(part, chunks);
        break;
      case 'error':
        throw readErrorPart(part.error);
      case 'text-start':
      case 'text-end':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        break;
      default:
        this.dropped.add(String(part.type));
    }
    return chunks;
  }

  private readThought(part: StreamPart, id: string, chunks: Chunk[]): void {
    this.textIsLast = false;
    if (part.providerMetadata) this.thoughts.set(id, { ...this.thoughts.get(id), ...part.providerMetadata });
    if (part.type === 'reasoning-start') this.thought++;
    // The SDK does not distinguish raw reasoning from summaries. It is passed on as a summary.
    if (part.type === 'reasoning-delta' && part.delta)
      chunks.push({ type: 'reasoning_summary', delta: part.delta, part: this.thought });
    const metadata = this.thoughts.get(id);
    if (part.type !== 'reasoning-end' || !metadata) return;
    const encryptedContent = writeSeal(this.readerContext.name, { on: 'reasoning', metadata });
    chunks.push({ type: 'reasoning_seal', format: 'unknown', encryptedContent });
  }

  private open(id: string, name: string, chunks: Chunk[]): void {
    this.textIsLast = false;
    this.calls.set(id, new OpenCall(this.readerContext.tools, { callId: id, name }, chunks));
  }

  private sealCall(callId: string, metadata: Metadata | undefined, chunks: Chunk[]): void {
    if (!metadata || Object.values(metadata).every(isIdAlone)) return;
    const encryptedContent = writeSeal(this.readerContext.name, { on: 'call', callId, metadata });
    chunks.push({ type: 'reasoning_seal', format: 'unknown', encryptedContent });
  }

  private readCall(part: StreamPart, chunks: Chunk[]): void {
    const { toolCallId, toolName, input, providerExecuted } = part;
    const id = String(toolCallId);
    if (providerExecuted) {
      this.dropped.add(`tool-call (${String(toolName)}, run by the provider)`);
      return;
    }
    if (!this.calls.has(id)) {
      this.open(id, String(toolName), chunks);
      this.calls.get(id)?.push(typeof input === 'string' ? input : JSON.stringify(input ?? {}), chunks);
    }
    this.calls.get(id)?.end(chunks);
    this.calls.set(id, undefined);
    this.sealCall(id, part.providerMetadata, chunks);
  }

  private readSource({ sourceType, url, title }: StreamPart): void {
    if (sourceType !== 'url' || typeof url !== 'string') {
      this.dropped.add(`source (${String(sourceType)})`);
      return;
    }
    const annotation = { type: 'url_citation', url, title: String(title ?? ''), start_index: 0, end_index: 0 };
    this.sources.push({ type: 'annotation', annotation });
  }

  private readFile({ mediaType, data }: StreamPart, chunks: Chunk[]): void {
    const bytes = (data as { data?: unknown } | undefined)?.data;
    if (!String(mediaType).startsWith('image/') || typeof bytes !== 'string') {
      this.dropped.add(`file (${String(mediaType)})`);
      return;
    }
    this.textIsLast = false;
    const item = { type: 'image_generation_call', status: 'completed', result: bytes };
    chunks.push({ type: 'item_done', key: `image-${this.images++}`, item });
  }

  private readWarnings(warnings: unknown): void {
    for (const warning of Array.isArray(warnings) ? warnings : []) {
      this.dropped.add(`request: ${String(warning?.feature ?? warning?.setting ?? warning?.message ?? warning?.type)}`);
    }
  }

  private finish(part: StreamPart, chunks: Chunk[]): void {
    if (this.textIsLast) chunks.push(...this.sources);
    else if (this.sources.length > 0) this.dropped.add('source');
    this.usage = readUsage(part.usage);
    const finish: Chunk = { type: 'finish', reason: this.readReason(part.finishReason) };
    const { raw } = (part.finishReason ?? {}) as { raw?: unknown };
    if (typeof raw === 'string') finish.nativeReason = raw;
    if (this.usage) finish.usage = this.usage;
    if (this.dropped.size > 0) finish.dropped = [...this.dropped];
    chunks.push(finish);
  }

  private readReason(value: unknown): FinishReason {
    const { unified, raw } = (value ?? {}) as { unified?: string; raw?: string };
    switch (unified) {
      case 'stop':
      case 'length':
        return unified;
      case 'content-filter':
        return 'content_filter';
      case 'tool-calls':
        return 'tool_calls';
      case 'error':
        throw new GatewayError(
          'upstream_failed',
          `The provider ended with an error${raw ? ` (${raw.slice(0, 100)})` : ''}.`,
          {
            retryable: true,
          },
        );
      default:
        this.dropped.add(`finishReason (${raw ?? unified})`);
        return 'stop';
    }
  }
}

/** Whether the metadata contains only the id of a stored call. The provider stores nothing for the gateway. */
function isIdAlone(value: unknown): boolean {
  return Object.keys((value ?? {}) as object).every((key) => key === 'itemId');
}

/** Reads an error from its HTTP response, if there is one. Packages invent a status for an error inside the stream. */
function readErrorPart(error: unknown): GatewayError {
  const { statusCode, responseHeaders } = (error ?? {}) as { statusCode?: unknown; responseHeaders?: unknown };
  if (typeof statusCode === 'number' && responseHeaders) return readPackageError(error, 'The provider');
  return readUpstreamErrorObject(error, typeof statusCode === 'number' ? statusCode : 200);
}

/** Reads the counts that all packages share, and the separately priced counts of the provider's own report (`raw`). */
function readUsage(value: unknown): Usage | undefined {
  const { inputTokens: input, outputTokens: output, raw } = (value ?? {}) as PackageUsage;
  if (input?.total === undefined && output?.total === undefined) return undefined;
  return usage({
    ...completeCounts(input?.total, output?.total),
    cachedTokens: input?.cacheRead ?? 0,
    reasoningTokens: output?.reasoning ?? 0,
    special: special({
      cacheWrite1hTokens: count(record(record(raw).cache_creation).ephemeral_1h_input_tokens),
      inputAudioTokens: count(record(record(raw).prompt_tokens_details).audio_tokens),
      outputAudioTokens: count(record(record(raw).completion_tokens_details).audio_tokens),
      webSearches: count(record(record(raw).server_tool_use).web_search_requests),
    }),
    ...(input?.cacheWrite === undefined ? undefined : { cacheWriteTokens: input.cacheWrite }),
  });
}

interface PackageUsage {
  inputTokens?: { total?: number; cacheRead?: number; cacheWrite?: number };
  outputTokens?: { total?: number; reasoning?: number };
  raw?: unknown;
}

const record = (value: unknown): Record<string, unknown> => (value ?? {}) as Record<string, unknown>;
const count = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
