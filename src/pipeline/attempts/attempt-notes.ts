import type { Chunk, FinishChunk, ItemKey } from '../../domain/chunks.ts';
import { estimateTextTokens, estimateTokens } from '../../domain/estimate-tokens.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { Sink } from '../../domain/sink.ts';
import { isCredible } from '../../domain/usage.ts';
import type { Provider } from '../../providers/provider.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { cleanFields, cleanName } from './clean-names.ts';

/**
 * Records in an attempt what its chunks report about it as a whole. It precedes every sink that may buffer or change
 * output, so that output is counted as the provider produced it.
 */
export class AttemptNotes implements Sink<Chunk> {
  private readonly attempt: TextAttempt;
  private readonly out: Sink<Chunk>;
  /** Characters of deltas by item, on wires that have items of their own. */
  private lengths: Map<ItemKey, number> | undefined;
  /** Whether the batch ends with the provider's counts, so that no estimate is needed, as in most buffered responses. */
  private isCounted = false;

  constructor(attempt: TextAttempt, out: Sink<Chunk>) {
    this.attempt = attempt;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    const last = chunks.at(-1);
    const usage = last?.type === 'finish' ? last.usage : undefined;
    this.isCounted = usage !== undefined && usage.missing === undefined && usage.outputTokens > 0 && isCredible(usage);
    for (const chunk of chunks) this.note(chunk);
    return this.out.write(chunks);
  }

  private note(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text':
      case 'tool_call_arguments':
      case 'reasoning':
      case 'reasoning_summary':
      case 'refusal':
        if (this.isCounted) break;
        this.attempt.producedTokens += estimateTextTokens(chunk.delta);
        if (chunk.key !== undefined) this.addTo(chunk.key, chunk.delta.length);
        break;
      case 'item_done':
        this.addRest(chunk.key, textsOf(chunk.item));
        break;
      case 'part_done':
        this.addRest(chunk.key, textsOfParts([chunk.part]));
        break;
      case 'start':
        if (chunk.model !== undefined) this.attempt.upstreamModel = cleanName(chunk.model, this.provider);
        if (chunk.native) this.attempt.native = { start: chunk.native };
        break;
      case 'finish':
        this.clean(chunk);
        this.attempt.finish = chunk;
        if (chunk.native) this.attempt.native = { ...this.attempt.native, end: chunk.native };
        if (chunk.dropped) this.attempt.droppedUpstreamFields = chunk.dropped;
        if (chunk.adapted) this.attempt.adapted = [...this.attempt.adapted, ...chunk.adapted];
        break;
    }
  }

  /** The finish chunk was created for this attempt alone, so it is changed in place. */
  private clean(finish: FinishChunk): void {
    const { provider } = this;
    const { upstreamTier } = this.attempt;
    if (finish.serviceTier === undefined && upstreamTier !== undefined) finish.serviceTier = upstreamTier;
    const { serviceTier, nativeReason, fields } = finish;
    if (nativeReason) finish.nativeReason = cleanName(nativeReason, provider);
    if (serviceTier) finish.serviceTier = cleanName(serviceTier, provider);
    const cut = fields ? cleanFields(fields, provider).map((name) => `${name} (cut to 200 characters)`) : [];
    if (finish.dropped || cut.length > 0)
      finish.dropped = [...(finish.dropped ?? []).map((name) => cleanName(name, provider)), ...cut];
  }

  private get provider(): Provider {
    return this.attempt.endpoint.provider;
  }

  /** Adds the tokens that no delta of the item contained. */
  private addRest(key: ItemKey, texts: readonly string[]): void {
    if (this.isCounted) return;
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const rest = length - (this.lengths?.get(key) ?? 0);
    if (rest <= 0) return;
    this.attempt.producedTokens += (estimateTokens(texts) * rest) / length;
    this.addTo(key, rest);
  }

  private addTo(key: ItemKey, length: number): void {
    this.lengths ??= new Map();
    this.lengths.set(key, (this.lengths.get(key) ?? 0) + length);
  }
}

/** Text, reasoning, arguments and input of a finished item. */
function textsOf(item: OutputItem): string[] {
  const { content, summary, arguments: text, input } = item as Record<string, unknown>;
  return [...textsOfParts(content), ...textsOfParts(summary), ...[text, input].filter(isText)];
}

const textsOfParts = (parts: unknown): string[] =>
  Array.isArray(parts)
    ? parts.flatMap((part: Record<string, unknown> | null) => [part?.['text'], part?.['refusal']]).filter(isText)
    : [];

const isText = (value: unknown): value is string => typeof value === 'string';
