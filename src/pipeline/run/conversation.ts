import type { InputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/** The input of a request as bytes, to be parsed again. */
export interface InputSource {
  /** @returns the input as the checks of the edge left it */
  read(): InputItem[];
  /** What it takes in memory unparsed. */
  readonly bytes: number;
}

/**
 * The input of a run: what the caller sent, and what its steps append. Parsed, a conversation takes several times the
 * memory of its bytes, for as long as a provider works, and the garbage collector copies it again and again; the bytes
 * lie outside the heap. So it is parked meanwhile, and parsed again if another attempt or step needs it.
 */
export class Conversation {
  /** Undefined while it is parked. */
  private given: InputItem[] | undefined;
  private source: InputSource | undefined;
  private readonly appended: InputItem[] = [];

  /** @param source absent: the items cannot be parsed again, so that they stay */
  constructor(items: InputItem[], source?: InputSource) {
    this.given = items;
    this.source = source;
  }

  /** All items, in order. Not to be changed in place. */
  read(): InputItem[] {
    const given = this.readGiven();
    return this.appended.length === 0 ? given : [...given, ...this.appended];
  }

  /** The items without those that steps have appended. */
  readGiven(): InputItem[] {
    this.given ??= this.source!.read(); // without a source it is never parked
    return this.given;
  }

  /** What the given items take in memory while they are parked; undefined if they cannot be. */
  get bytes(): number | undefined {
    return this.source?.bytes;
  }

  /** Adds what a step has learned. It stays in memory. */
  append(items: readonly InputItem[]): void {
    for (const item of items) this.appended.push(item);
  }

  /** Puts other items in the place of the given ones. */
  replace(items: InputItem[]): void {
    this.given = items;
    this.source = undefined;
  }

  /** Frees the parsed items. The next `read` parses them again. */
  park(): void {
    if (this.source) this.given = undefined;
  }
}

/** Moves the input of a request into a conversation, so that the request does not keep it when it is parked. */
export function takeInput(request: ResponseRequest, source: InputSource | undefined): Conversation {
  const { input } = request;
  (request as { input?: InputItem[] | undefined }).input = undefined; // it belongs to the conversation from here on
  return new Conversation(input, source);
}
