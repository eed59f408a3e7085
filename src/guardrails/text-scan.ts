import type { TextEdits } from './text-edits.ts';

/** Scans a text that arrives in pieces, and writes it again. */
export interface TextScan {
  /** Whether a filter with the action `block` has matched. No text leaves from the start of that match on. */
  readonly blocked: boolean;
  /** The redactions so far. */
  readonly edits: TextEdits;
  /** Text before this position has left, or was replaced. */
  readonly settled: number;
  /** Units of work so far. */
  readonly work: number;
  add(piece: string): void;
  /** No more pieces follow. */
  end(): void;
  /** Scans on. @param work maximum, in units, about @returns whether all that was added is scanned */
  advance(work?: number): boolean;
  /** Returns what is ready of the text, once. */
  take(): string;
}
