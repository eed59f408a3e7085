import { GrowingText } from '../../domain/growing-text.ts';
import type { TextEdits } from '../text-edits.ts';
import type { TextScan } from '../text-scan.ts';

type Annotation = Record<string, unknown>;

/** Log probabilities of a token, and where it is in the text. */
interface Token {
  readonly start: number;
  readonly end: number;
  readonly logprobs: unknown;
}

/** One text of the output while it is scanned, with the parts that refer to positions in it. */
export class GuardedText {
  readonly scan: TextScan;
  /** Whether no more text follows. */
  isEnded = false;
  /** Parts that were dropped, because they belonged to replaced text. */
  dropped: Set<string> | undefined;
  private length = 0;
  private readonly original: GrowingText | undefined;
  private readonly revised: GrowingText | undefined;
  private tokens: Token[] = [];
  private annotations: Annotation[] = [];

  /** @param isKept whether the whole text is compared later */
  constructor(scan: TextScan, isKept: boolean) {
    this.scan = scan;
    this.original = isKept ? new GrowingText() : undefined;
    this.revised = isKept ? new GrowingText() : undefined;
  }

  add(piece: string, logprobs?: readonly unknown[]): void {
    if (logprobs) this.addTokens(piece, logprobs);
    this.length += piece.length;
    this.original?.add(piece);
    if (piece !== '') this.scan.add(piece);
  }

  end(): void {
    this.isEnded = true;
    this.scan.end();
  }

  /** Whether the text before redaction is another one. Only if it is kept. */
  differsFrom(whole: string): boolean {
    return this.original?.text !== whole;
  }

  /** Returns what the whole text has more than the pieces so far. Undefined: it is another text. Only if it is kept. */
  restOf(whole: string): string | undefined {
    const known = this.original?.text ?? '';
    return whole.startsWith(known) ? whole.slice(known.length) : undefined;
  }

  /** The text with its placeholders, as far as it was taken. Only if it is kept. */
  get whole(): string {
    return this.revised?.text ?? '';
  }

  /** Returns what is ready of the text, once. */
  take(): string {
    const text = this.scan.take();
    this.revised?.add(text);
    return text;
  }

  /** Returns the log probabilities of the text that is ready, once. Undefined: there are none. */
  takeLogprobs(): unknown[] | undefined {
    const { tokens } = this;
    if (tokens.length === 0) return undefined;
    const { settled, edits } = this.scan;
    let count = 0;
    const ready: unknown[] = [];
    for (; count < tokens.length && (this.isEnded || tokens[count]!.end <= settled); count++) {
      const { start, end, logprobs } = tokens[count]!;
      if (!edits.isKnown || edits.overlap(start, end)) this.drop('logprobs');
      else ready.push(logprobs);
    }
    if (count > 0) tokens.splice(0, count);
    return ready.length === 0 ? undefined : ready;
  }

  annotate(annotation: Annotation): void {
    this.annotations.push(annotation);
  }

  /** Returns the annotations of the text that is ready, once, with their positions in the text as it is written. */
  takeAnnotations(): Annotation[] {
    if (this.annotations.length === 0) return noAnnotations;
    const { settled, edits } = this.scan;
    const count = this.annotations.findIndex(
      ({ end_index: end }) => !this.isEnded && typeof end === 'number' && end > settled,
    );
    const ready = this.annotations.splice(0, count === -1 ? this.annotations.length : count);
    return ready.flatMap((annotation) => {
      const moved = moveAnnotation(annotation, edits);
      if (!moved) this.drop('annotations');
      return moved ? [moved] : [];
    });
  }

  private drop(field: string): void {
    this.dropped ??= new Set();
    this.dropped.add(field);
  }

  private addTokens(piece: string, logprobs: readonly unknown[]): void {
    const lengths = logprobs.map(lengthOf);
    const isAligned = lengths.reduce((sum, length) => sum + length, 0) === piece.length;
    let start = this.length;
    for (const [index, each] of logprobs.entries()) {
      // If the tokens are not those of the piece, each of them may be any part of it.
      const end = isAligned ? start + lengths[index]! : this.length + piece.length;
      this.tokens.push({ start, end, logprobs: each });
      if (isAligned) start = end;
    }
  }
}

const noAnnotations: Annotation[] = [];

function lengthOf(logprobs: unknown): number {
  const token = typeof logprobs === 'object' && logprobs !== null ? (logprobs as { token?: unknown }).token : undefined;
  return typeof token === 'string' ? token.length : 0;
}

/** Returns the log probabilities of a whole text, without those of replaced parts. */
export function keepLogprobs(logprobs: readonly unknown[], text: string, edits: TextEdits): readonly unknown[] {
  if (!edits.hasAny) return logprobs;
  const lengths = logprobs.map(lengthOf);
  const isAligned = lengths.reduce((sum, length) => sum + length, 0) === text.length;
  if (!isAligned || !edits.isKnown) return [];
  let start = 0;
  return logprobs.filter((_, index) => {
    const end = start + lengths[index]!;
    const isKept = !edits.overlap(start, end);
    start = end;
    return isKept;
  });
}

/**
 * Corrects the positions of an annotation. One that is about replaced text is about the placeholder.
 *
 * @returns undefined if they are not known
 */
export function moveAnnotation(annotation: Annotation, edits: TextEdits): Annotation | undefined {
  const { start_index: start, end_index: end } = annotation;
  if (!edits.hasAny || (typeof start !== 'number' && typeof end !== 'number')) return annotation;
  if (!edits.isKnown) return undefined;
  return {
    ...annotation,
    ...(typeof start === 'number' && { start_index: edits.move(start, false) }),
    ...(typeof end === 'number' && { end_index: edits.move(end, true) }),
  };
}
