import type { Chunk, FinishReason } from '../../domain/chunks.ts';
import { hasCounts, type Usage } from '../../domain/usage.ts';
import { DroppedNames } from '../kit/dropped-names.ts';
import { DeltaFrames } from '../kit/frame-template.ts';
import type { Frame, Reader } from '../wire.ts';
import { invalidUpstreamData, isKeepAlive, parseUpstream } from '../kit/invalid-data.ts';
import { refuseBlocked } from './blocked.ts';
import { findError } from '../errors/complaint.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import { countQueries, readGrounding } from './grounding.ts';
import { PartReader } from './part-reader.ts';
import { readFinishReason, readTier, readUsage } from './usage.ts';
import { NativeEnding } from './native-ending.ts';
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
  /** Fields that a client of the same format gets at the end. */
  private readonly native: NativeEnding | undefined;

  constructor(readerContext: ReaderContext) {
    this.native = readerContext.keepsNative ? new NativeEnding() : undefined;
    this.parts = new PartReader(readerContext, this.dropped);
  }

  read(frame: Frame): Chunk[] {
    const { data } = frame;
    if (isKeepAlive(frame) || this.ended) return [];
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
    if (hasCounts(answer.usageMetadata)) this.usage = answer.usageMetadata;
    const failure = findError(answer, 'candidates');
    if (failure) throw readUpstreamErrorObject(failure, 200);
    if (!this.begun) {
      this.begun = true;
      const { modelVersion: model, responseId: id } = answer;
      if (typeof id === 'string' && id !== '') this.parts.responseId = id;
      chunks.push({
        type: 'start',
        ...(typeof model === 'string' && { model }),
        ...(this.native && { native: { usage: {}, fields: {} } }),
      });
    }
    if (this.native) this.native.addResponse(answer);
    else for (const name in answer) if (!answerFields.has(name) && answer[name]) this.dropped.add(name);
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
    if (this.native) finish.native = this.native.finish(this.nativeReason ?? 'STOP', this.usage ?? {});
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
    const dropped = this.native ? new Set<string>() : this.dropped; // the client gets the metadata itself
    if (text === undefined) dropped.add('groundingMetadata');
    else readGrounding(grounding, isTextOpen ? text : undefined, chunks, dropped);
  }

  private readCandidate(candidate: Candidate, chunks: Chunk[]): void {
    if (this.native) this.native.addCandidate(candidate);
    else for (const name in candidate) if (!candidateFields.has(name) && candidate[name]) this.dropped.add(name);
    const parts = candidate.content?.parts;
    this.parts.logprobs = candidate.logprobsResult ?? undefined;
    if (Array.isArray(parts)) for (const part of parts) this.parts.read(part, chunks);
    if (this.parts.logprobs !== undefined) this.dropped.add('logprobsResult');
    // Each event may contain it, with all sources so far.
    if (candidate.groundingMetadata) this.grounding = candidate.groundingMetadata as Record<string, unknown>;
    const sources = (candidate.citationMetadata as { citationSources?: unknown } | undefined)?.citationSources;
    if (Array.isArray(sources) && sources.length > 0 && !this.native)
      this.dropped.add('citationMetadata.citationSources');
    if (typeof candidate.finishReason === 'string') {
      this.nativeReason = candidate.finishReason;
      this.reason = readFinishReason(candidate.finishReason, candidate.finishMessage, this.dropped);
    }
  }
}
