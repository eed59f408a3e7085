import type {
  Chunk,
  ItemKey,
  ReasoningChunk,
  ReasoningSummaryChunk,
  RefusalChunk,
  TextChunk,
  ToolCallArgumentsChunk,
} from '../../domain/chunks.ts';
import { GuardedText } from './guarded-text.ts';
import type { OutputScanner } from './output-scanner.ts';

export type DeltaChunk = TextChunk | RefusalChunk | ReasoningChunk | ReasoningSummaryChunk;

/** A text that is in progress, and how its chunks are written. */
export interface OpenText {
  readonly text: GuardedText;
  /** Another chunk of it. */
  readonly write: (delta: string) => Chunk;
  readonly kind: DeltaChunk['type'] | 'call' | 'relay';
  /** Its number, if it is a part of a summary. */
  readonly part?: number | undefined;
}

/** Scans the texts in progress, and passes on what is ready of them. Text waits as long as a filter may still match in it. */
export class OpenTexts {
  readonly scanner: OutputScanner;
  /** Whether messages were requested as JSON. */
  readonly isJson: boolean;
  /** Chunks that may go to the client. */
  ready: Chunk[] = [];

  constructor(scanner: OutputScanner, isJson: boolean) {
    this.scanner = scanner;
    this.isJson = isJson;
  }

  open(kind: OpenText['kind'], isJson: boolean, isKept: boolean, write: OpenText['write']): OpenText {
    return { kind, text: new GuardedText(this.scanner.createScan(isJson), isKept), write };
  }

  openDelta(chunk: DeltaChunk, isKept: boolean): OpenText {
    const { type, key } = chunk;
    const keyed = key === undefined ? undefined : { key };
    const part = chunk.type === 'reasoning_summary' ? chunk.part : undefined;
    const numbered = part === undefined ? undefined : { part };
    const isJson = type === 'text' && this.isJson;
    return { ...this.open(type, isJson, isKept, (delta) => ({ type, delta, ...numbered, ...keyed })), part };
  }

  add(open: OpenText, chunk: DeltaChunk | ToolCallArgumentsChunk): Promise<void> | undefined {
    const { text } = open;
    text.add(chunk.delta, this.scanner.isChanging && chunk.type === 'text' ? chunk.logprobs : undefined);
    const scanning = this.scanner.scan(text.scan);
    if (scanning) return scanning.then(() => this.passDelta(open, chunk));
    this.passDelta(open, chunk);
    return undefined;
  }

  private passDelta(open: OpenText, chunk: DeltaChunk | ToolCallArgumentsChunk): void {
    const ready = open.text.take();
    if (!this.scanner.isChanging) {
      this.ready.push(chunk);
      return;
    }
    const isEmpty = chunk.delta === '';
    chunk.delta = ready; // the chunk was created for this attempt alone
    if (chunk.type !== 'text') {
      if (ready !== '' || isEmpty) this.ready.push(chunk);
      return;
    }
    const logprobs = open.text.takeLogprobs();
    if (logprobs || chunk.logprobs) chunk.logprobs = logprobs ?? [];
    if (ready !== '' || isEmpty || logprobs) this.ready.push(chunk);
    this.passAnnotations(open, chunk.key);
  }

  passAnnotations({ text }: OpenText, key: ItemKey | undefined): void {
    for (const annotation of text.takeAnnotations()) {
      this.ready.push({ type: 'annotation', annotation, ...(key !== undefined && { key }) });
    }
  }

  /** Ends a text and passes on what has waited. */
  end(open: OpenText, key?: ItemKey): Promise<void> | undefined {
    const { text } = open;
    if (text.isEnded) return undefined;
    text.end();
    const scanning = this.scanner.scan(text.scan);
    if (scanning) return scanning.then(() => this.passRest(open, key));
    this.passRest(open, key);
    return undefined;
  }

  private passRest(open: OpenText, key: ItemKey | undefined): void {
    const rest = open.text.take();
    if (!this.scanner.isChanging) return;
    const logprobs = open.text.takeLogprobs();
    if (rest !== '' || logprobs) this.ready.push({ ...open.write(rest), ...(logprobs && { logprobs }) } as Chunk); // of a text
    this.passAnnotations(open, key);
    for (const field of open.text.dropped ?? []) this.scanner.dropped.add(field);
  }
}

/** Whether a chunk continues the text in progress. A piece of a summary names its part. */
export const continues = (open: OpenText, chunk: DeltaChunk): boolean =>
  open.kind === chunk.type &&
  (chunk.type !== 'reasoning_summary' || chunk.part === undefined || chunk.part === open.part);
