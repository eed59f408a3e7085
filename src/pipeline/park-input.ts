import type { InputItem } from '../domain/items.ts';
import type { Run } from './run.ts';

/** The input of a request as it came, to be read once more. */
export interface InputSource {
  /** @returns the input as the checks left it */
  read(): InputItem[];
  /** What it takes in memory until then. */
  readonly bytes: number;
}

const parked: InputItem[] = [];

/**
 * Lets go of the input while a provider works on it. Parsed, a conversation takes several times the memory of its bytes,
 * for seconds, and the garbage collector copies it again and again; the bytes lie outside the heap. Only another
 * endpoint needs the items again.
 *
 * An input that a plugin replaced is not what came, so that it stays.
 */
export function parkInput(run: Run): void {
  if (run.source) run.request.input = parked;
}

/** Has the input in place again. */
export function unparkInput(run: Run): void {
  if (run.source && run.request.input === parked) run.request.input = run.source.read();
}
