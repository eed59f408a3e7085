import {
  type AnnotationChunk,
  type Chunk,
  type FinishChunk,
  isOutput,
  type ReasoningSealChunk,
  type ToolCallArgumentsChunk,
  type ToolCallChunk,
} from '../../domain/chunks.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Reviser, RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { FilterSets } from '../filter-sets.ts';
import { GuardedItems } from './guarded-items.ts';
import { HiddenCalls } from './hidden-calls.ts';
import { continues, type DeltaChunk, type OpenText, OpenTexts } from './open-texts.ts';
import { type GuardedRun, type OutputFilters, OutputScanner } from './output-scanner.ts';

/**
 * Creates a function that returns the reviser for the content filters of a caller. It returns a promise only if they must be
 * compiled first, and undefined if there are none.
 */
export const createOutputGuard =
  (sets: () => FilterSets) =>
  (run: GuardedRun): MaybePromise<Reviser<GuardedRun> | undefined> => {
    const { contentFilters } = run.caller;
    if (contentFilters === undefined || run.parent) return undefined;
    const found = sets().find(contentFilters, 'output');
    if (found instanceof Promise) return found.then((filters) => filters && guardOutput(filters));
    return found && guardOutput(found);
  };

/**
 * Creates the reviser that applies content filters to the output of a run.
 *
 * @see docs/reference/guardrails.md#output
 */
export const guardOutput = (filters: OutputFilters): Reviser<GuardedRun> => ({
  open: (run, out) => new GuardingSink(run, filters, out),
});

/** Scans the output of one attempt. The client gets the same text in deltas and in whole items. */
class GuardingSink implements RevisingSink {
  private readonly scanner: OutputScanner;
  private readonly out: Sink<Chunk>;
  private readonly texts: OpenTexts;
  private readonly items: GuardedItems;
  private readonly hidden: HiddenCalls;
  /** The text in progress of a wire without items of its own. */
  private current: OpenText | undefined;
  /** Arguments of its calls. */
  private readonly calls = new Map<string, OpenText>();
  private hasPassed = false;
  /** Whether text of the reasoning in progress was replaced. */
  private hasChangedReasoning = false;

  constructor(run: GuardedRun, filters: OutputFilters, out: Sink<Chunk>) {
    this.scanner = new OutputScanner(run, filters);
    this.out = out;
    const format = run.request.text?.format?.type;
    this.texts = new OpenTexts(this.scanner, format === 'json_object' || format === 'json_schema');
    this.hidden = new HiddenCalls(run);
    this.items = new GuardedItems(this.texts, this.hidden);
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    this.scanner.beginBatch();
    const waiting = this.takeFrom(chunks, 0);
    if (!waiting) return this.pass();
    const passing = waiting.then(() => this.pass());
    passing.catch(() => {}); // the writer may have stopped waiting
    return passing;
  }

  abandon(): void {
    this.scanner.isAbandoned = true;
    this.texts.ready = [];
    if (this.hasPassed && !this.scanner.isReported) this.scanner.report();
  }

  private pass(): Promise<void> | undefined {
    const { ready } = this.texts;
    if (ready.length === 0 || this.scanner.isAbandoned) return undefined;
    // The start of an item commits the attempt. It waits for the first text, so that a block before that is an HTTP error.
    if (!this.hasPassed && !ready.some((chunk) => isOutput(chunk) || chunk.type === 'finish')) return undefined;
    this.hasPassed = true;
    this.texts.ready = [];
    return this.out.write(ready);
  }

  private takeFrom(chunks: readonly Chunk[], from: number): Promise<void> | undefined {
    for (let index = from; index < chunks.length; index++) {
      const waiting = this.take(chunks[index]!);
      if (waiting) return waiting.then(() => this.takeFrom(chunks, index + 1));
    }
    return undefined;
  }

  private take(chunk: Chunk): Promise<void> | undefined {
    switch (chunk.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
      case 'reasoning_summary': {
        const open = chunk.key === undefined ? this.textFor(chunk) : this.items.textFor(chunk.key, chunk);
        return open instanceof Promise ? open.then((text) => this.texts.add(text, chunk)) : this.texts.add(open, chunk);
      }
      case 'tool_call_arguments': {
        const open = chunk.key === undefined ? this.calls.get(chunk.callId) : this.items.callOf(chunk.key);
        if (open && !this.hidden.has(chunk.key ?? chunk.callId)) return this.texts.add(open, chunk);
        this.texts.ready.push(chunk);
        return undefined;
      }
      case 'start':
      case 'debug':
        this.texts.ready.push(chunk);
        return undefined;
      default:
        return this.takeWhole(chunk);
    }
  }

  /** Takes a chunk that is not a piece of text. */
  private async takeWhole(chunk: Exclude<Chunk, DeltaChunk | ToolCallArgumentsChunk>): Promise<void> {
    switch (chunk.type) {
      case 'annotation':
        return this.takeAnnotation(chunk);
      case 'reasoning_seal':
        if (chunk.key === undefined && this.current && isReasoning(this.current)) await this.endCurrent();
        this.dropSignature(chunk);
        break;
      case 'tool_call':
        return this.takeCall(chunk);
      case 'item':
        await this.endCurrent();
        return this.items.takeItem(chunk);
      case 'part':
        return this.items.takePart(chunk);
      case 'part_done':
        return this.items.takePartDone(chunk);
      case 'relay':
        return this.items.takeRelay(chunk);
      case 'item_done':
        await this.endCurrent();
        return this.items.takeItemDone(chunk);
      case 'step_end':
        return this.endAll();
      case 'finish':
        return this.takeFinish(chunk);
      case 'part_end':
        return; // a text that is split must not escape the filters
    }
    this.texts.ready.push(chunk);
  }

  /** Returns the text that a chunk without key belongs to. The text before it ends, if it is another one. */
  private textFor(chunk: DeltaChunk): MaybePromise<OpenText> {
    const { current } = this;
    if (current && continues(current, chunk)) return current;
    const ended = current && this.endCurrent();
    const open = (): OpenText => {
      this.current = this.texts.openDelta(chunk, false);
      return this.current;
    };
    return ended ? ended.then(open) : open();
  }

  private async takeAnnotation(chunk: AnnotationChunk): Promise<void> {
    const { key } = chunk;
    const about: DeltaChunk = { type: 'text', delta: '', ...(key !== undefined && { key }) };
    const open = await (key === undefined ? this.textFor(about) : this.items.textFor(key, about));
    const annotation = await this.scanner.reviseAll(chunk.annotation);
    if (!this.scanner.isChanging) {
      this.texts.ready.push(chunk);
      return;
    }
    open.text.annotate(annotation);
    this.texts.passAnnotations(open, key);
  }

  /** A signature is that of the text before it was replaced: the provider would reject it. */
  private dropSignature(chunk: ReasoningSealChunk): void {
    const isChanged = chunk.key === undefined ? this.hasChangedReasoning : this.items.isChanged(chunk.key);
    if (!isChanged || chunk.signature === undefined) return;
    delete chunk.signature;
    this.scanner.dropped.add('signature');
  }

  private async takeCall(chunk: ToolCallChunk): Promise<void> {
    await this.endCurrent();
    const { callId, name, namespace, kind, fields } = chunk;
    const known = this.calls.get(callId);
    if (known) await this.texts.end(known); // another call of that id
    if (!this.hidden.note(callId, kind !== 'custom' && { name, namespace })) {
      if (fields) chunk.fields = await this.scanner.reviseAll(fields);
      const write = (delta: string): Chunk => ({ type: 'tool_call_arguments', callId, delta });
      this.calls.set(callId, this.texts.open('call', kind !== 'custom', false, write));
    }
    this.texts.ready.push(chunk);
  }

  private async takeFinish(chunk: FinishChunk): Promise<void> {
    if (chunk.fields) chunk.fields = await this.scanner.reviseAll(chunk.fields);
    await this.endAll();
    this.texts.ready.push(chunk);
  }

  private async endAll(): Promise<void> {
    await this.endCurrent();
    for (const call of this.calls.values()) await this.texts.end(call);
    await this.items.endAll();
    this.scanner.report();
  }

  private endCurrent(): Promise<void> | undefined {
    const { current } = this;
    this.current = undefined;
    if (!current) return undefined;
    const ending = this.texts.end(current);
    return ending ? ending.then(() => this.noteReasoning(current)) : this.noteReasoning(current);
  }

  private noteReasoning(ended: OpenText): undefined {
    this.hasChangedReasoning = isReasoning(ended) && (this.hasChangedReasoning || ended.text.scan.edits.hasAny);
  }
}

const isReasoning = ({ kind }: OpenText): boolean => kind === 'reasoning' || kind === 'reasoning_summary';
