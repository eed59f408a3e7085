import type { Chunk, FinishReason } from '../../domain/chunks.ts';
import type { Usage } from '../../domain/usage.ts';
import { DroppedNames } from '../kit/dropped-names.ts';
import { DeltaFrames } from '../kit/frame-template.ts';
import type { Frame, Reader } from '../wire.ts';
import { invalidUpstreamData, parseUpstream } from '../kit/invalid-data.ts';
import { refuseBlocked } from './blocked.ts';
import { findError } from '../errors/complaint.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import { countQueries, readGrounding } from './grounding.ts';
import { PartReader } from './part-reader.ts';
import { readFinishReason, readTier, readUsage } from './usage.ts';
import type { GeminiResponse, Candidate, ReaderContext } from './wire.ts';

/** Reads a stream of responses. Each contains only new parts. The end of the body is the end of the response. */
export const createReader = (readerContext: ReaderContext): Reader => new AnswerReader(readerContext);

/** Reads a buffered response, which is a stream event with all parts. */
export function readWhole(body: unknown, readerContext: ReaderContext): Chunk[] {
  const reader = new AnswerReader(readerContext);
  const chunks: Chunk[] = [];
  // Without `alt=sse`, a stream is a list of events.
  for (const answer of Array.isArray(body) ? body : [body]) reader.take(answer, chunks);
  chunks.push(...reader.end());
  if (chunks.at(-1)?.type !== 'finish')
    throw invalidUpstreamData('The provider answered without a finished candidate.');
  return chunks;
}

/** @see TextWire.countWhole */
export function countWhole(body: unknown): Usage | undefined {
  const last = (Array.isArray(body) ? body.at(-1) : body) as GeminiResponse | null | undefined;
  return readUsage(last?.usageMetadata ?? undefined);
}

const answerFields = new Set([
  'candidates',
  'usageMetadata',
  'modelVersion',
  'responseId',
  'promptFeedback',
  'createTime',
  'error',
]);
const candidateFields = new Set([
  'content',
  'finishReason',
  'finishMessage',
  'index',
  'groundingMetadata',
  'citationMetadata',
  'safetyRatings',
  'logprobsResult',
  'avgLogprobs',
  'tokenCount',
]);

/** A class, because each response has one and an instance costs far less than a set of closures. */
class AnswerReader implements Reader {
  private readonly dropped = new DroppedNames();
  private readonly parts: PartReader;
  private readonly frames = new DeltaFrames();
  private begun = false;
  private ended = false;
  private usage: Record<string, unknown> | undefined;
  private grounding: Record<string, unknown> | undefined;
  private reason: FinishReason | undefined;
  private nativeReason: string | undefined;
  /** The last event if a template read it. Its counts matter only if no event follows. */
  private unparsed: string | undefined;

  constructor(readerContext: ReaderContext) {
    this.parts = new PartReader(readerContext, this.dropped);
  }

  read({ data }: Frame): Chunk[] {
    if (data === '' || this.ended) return [];
    const delta = this.frames.read(data);
    if (delta) {
      this.unparsed = data;
      return [this.parts.readDelta(delta)];
    }
    this.unparsed = undefined;
    const answer = parseUpstream(data);
    const chunks: Chunk[] = [];
    // An error may arrive in a list, as in a stream without `alt=sse`.
    for (const each of Array.isArray(answer) ? answer : [answer]) this.take(each, chunks);
    this.learn(data, chunks);
    return chunks;
  }

  /** Makes a template of a frame that contains only a text and the token counts so far, for the frames after it. */
  private learn(data: string, chunks: readonly Chunk[]): void {
    const [first] = chunks;
    if (chunks.length !== 1 || first?.type !== 'text' || first.logprobs || this.reason || this.grounding) return;
    const counts = Object.entries(this.usage ?? {}).flatMap(([key, value]) =>
      typeof value === 'number' ? [{ key, value }] : [],
    );
    this.frames.learn(data, [{ key: 'text', value: first.delta }, ...counts]);
  }

  take(value: unknown, chunks: Chunk[]): void {
    if (typeof value !== 'object' || value === null)
      throw invalidUpstreamData('The provider sent an event that is not an object.');
    const answer = value as GeminiResponse;
    if (answer.usageMetadata) this.usage = answer.usageMetadata;
    const failure = findError(answer, 'candidates');
    if (failure) throw readUpstreamErrorObject(failure, 200);
    if (!this.begun) {
      this.begun = true;
      const { modelVersion: model, responseId: id } = answer;
      if (typeof id === 'string' && id !== '') this.parts.responseId = id;
      chunks.push(typeof model === 'string' ? { type: 'start', model } : { type: 'start' });
    }
    for (const name in answer) if (!answerFields.has(name) && answer[name]) this.dropped.add(name);
    refuseBlocked(answer);
    for (const candidate of Array.isArray(answer.candidates) ? (answer.candidates as Candidate[]) : []) {
      if (typeof candidate !== 'object' || candidate === null)
        throw invalidUpstreamData('The provider sent no candidate.');
      if (Number(candidate.index ?? 0) > 0) this.dropped.add(`candidates[${String(candidate.index)}]`);
      else this.readCandidate(candidate, chunks);
    }
  }

  end(): Chunk[] {
    if (this.ended || this.reason === undefined) return []; // without a reason, the stream was truncated
    this.ended = true;
    const chunks: Chunk[] = [];
    this.parts.end(chunks);
    if (this.grounding) this.cite(this.grounding, chunks);
    const isCall = this.reason === 'stop' && this.parts.hasCalls;
    const finish: Chunk = { type: 'finish', reason: isCall ? 'tool_calls' : this.reason };
    if (this.nativeReason !== undefined) finish.nativeReason = this.nativeReason;
    const counts = readUsage(this.usage, this.grounding ? countQueries(this.grounding) : 0);
    if (counts) finish.usage = counts;
    const tier = readTier(this.usage);
    if (tier !== undefined) finish.serviceTier = tier;
    if (this.dropped.size > 0) finish.dropped = [...this.dropped];
    chunks.push(finish);
    return chunks;
  }

  counted(): Usage | undefined {
    return this.unparsed === undefined ? readUsage(this.usage) : countWhole(parseUpstream(this.unparsed));
  }

  keptLength(): number {
    return this.parts.keptLength;
  }

  /** Adds the citations. If the caller offered no search, the text is not kept, so the citations have no position. */
  private cite(grounding: Record<string, unknown>, chunks: Chunk[]): void {
    const { text, isTextOpen } = this.parts;
    if (text === undefined) this.dropped.add('groundingMetadata');
    else readGrounding(grounding, isTextOpen ? text : undefined, chunks, this.dropped);
  }

  private readCandidate(candidate: Candidate, chunks: Chunk[]): void {
    for (const name in candidate) if (!candidateFields.has(name) && candidate[name]) this.dropped.add(name);
    const parts = candidate.content?.parts;
    this.parts.logprobs = candidate.logprobsResult ?? undefined;
    if (Array.isArray(parts)) for (const part of parts) this.parts.read(part, chunks);
    if (this.parts.logprobs !== undefined) this.dropped.add('logprobsResult');
    // Each event may contain it, with all sources so far.
    if (candidate.groundingMetadata) this.grounding = candidate.groundingMetadata as Record<string, unknown>;
    const sources = (candidate.citationMetadata as { citationSources?: unknown } | undefined)?.citationSources;
    if (Array.isArray(sources) && sources.length > 0) this.dropped.add('citationMetadata.citationSources');
    if (typeof candidate.finishReason === 'string') {
      this.nativeReason = candidate.finishReason;
      this.reason = readFinishReason(candidate.finishReason, candidate.finishMessage, this.dropped);
    }
  }
}
