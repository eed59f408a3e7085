import type { Chunk, FinishChunk } from '../../domain/chunks.ts';
import { BufferedChunks } from '../../domain/buffered-chunks.ts';
import type { SummarySeal } from '../../domain/compaction.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createId } from '../../domain/ids.ts';
import { listTexts } from '../../domain/message-texts.ts';
import type { Reviser, RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { TextAttempt } from '../run/attempt.ts';
import type { Run } from '../run/run.ts';

/**
 * Creates the last reviser of a run that compacts its conversation. It sees the summary after all other revisers, and passes
 * on a compaction that contains it in sealed form. The compaction of a provider passes unchanged.
 *
 * @see docs/reference/compaction.md, docs/reference/choices.md, choice 801
 */
export const sealSummaries = ({ seal }: Pick<SummarySeal, 'seal'>): Reviser<Run> => ({
  open(run, out) {
    const attempt = run.steps.at(-1)!.attempts.at(-1)!; // the one that opens it
    const hasLimit = typeof run.request.max_output_tokens === 'number';
    return new SummarySink({ attempt, hasLimit, seal: (summary) => seal(run.caller.workspaceId, summary), out });
  },
});

interface SummaryParts {
  attempt: TextAttempt;
  /** Whether the caller limits the output. */
  hasLimit: boolean;
  seal: (summary: string) => string;
  out: Sink<Chunk>;
}

class SummarySink implements RevisingSink {
  private readonly parts: SummaryParts;
  private readonly buffer = new BufferedChunks();
  private hasCompaction = false;
  private isAbandoned = false;

  constructor(parts: SummaryParts) {
    this.parts = parts;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    if (this.isAbandoned) return undefined;
    if (!this.parts.attempt.writesSummary) return this.passNative(chunks);
    if (!this.buffer.add(chunks.filter(isKept))) throw failed('The summary of the conversation is too long.');
    const last = chunks.at(-1);
    return last?.type === 'finish' ? this.end(last) : undefined;
  }

  abandon(): void {
    this.isAbandoned = true;
    this.buffer.release();
  }

  private passNative(chunks: Chunk[]): Promise<void> | undefined {
    for (const chunk of chunks) {
      if (chunk.type === 'item_done' && chunk.item.type === 'compaction') this.hasCompaction = true;
      if (chunk.type === 'finish' && !this.hasCompaction) throw failed('The provider returned no compaction.');
    }
    return this.parts.out.write(chunks);
  }

  private end(finish: FinishChunk): Promise<void> | undefined {
    const kept = this.buffer.release();
    const summary = [...listTexts(kept)].join('\n\n').trim();
    if (finish.reason === 'length') throw cutOff(this.parts.hasLimit);
    if (finish.reason === 'content_filter' || summary === '')
      throw failed('The model wrote no summary of the conversation.');
    const item = { type: 'compaction', id: createId('cmp_'), encrypted_content: this.parts.seal(summary) };
    return this.parts.out.write([
      ...kept.filter(isHidden),
      { type: 'item_done', key: 'compaction', item },
      { ...finish, reason: 'stop' }, // a call, which the model was not offered, is left out
    ]);
  }
}

/** Whether a chunk precedes the output. */
const isHidden = ({ type }: Chunk): boolean => type === 'start' || type === 'debug';

/** Whether a chunk precedes the output, or has a text of a message. */
const isKept = (chunk: Chunk): boolean =>
  isHidden(chunk) || chunk.type === 'text' || (chunk.type === 'item_done' && chunk.item.type === 'message');

/** The error of a summary that is too long for the limit of the caller, or for that of the model. */
function cutOff(hasLimit: boolean): GatewayError {
  if (!hasLimit) return failed('The output limit of the model cut off the summary of the conversation.');
  const message = 'cuts off the summary of the conversation; raise it, or leave it out';
  const issues = [{ path: 'max_output_tokens', message }];
  return new GatewayError('invalid_request', `max_output_tokens ${message}.`, {
    retryable: true,
    metadata: { issues },
  });
}

const failed = (message: string) => new GatewayError('upstream_failed', message, { retryable: true });
