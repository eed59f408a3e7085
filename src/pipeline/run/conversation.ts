import type { InputItem, OutputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/** The input of a request as bytes, to be parsed again. */
export interface InputSource {
  /** Returns the input as the checks of the edge returned it. */
  read(): InputItem[];
  /** Its size in memory before it is parsed. */
  readonly bytes: number;
  /** Moves the bytes out of memory that they share with others. For a conversation that lasts. */
  separate?(): void;
}

/**
 * The input of a run: the items of the caller and those that its steps append. Parsed items take several times the
 * memory of their bytes, and the garbage collector copies them repeatedly. The bytes are outside the heap. The items
 * are therefore parked while a provider works, and parsed again if another attempt or step needs them.
 */
export class Conversation {
  /** Undefined while it is parked. */
  private given: InputItem[] | undefined;
  private source: InputSource | undefined;
  private readonly appended: InputItem[] = [];
  /** Those of the caller's items, once they were needed. */
  private callIds: readonly unknown[] | undefined;

  /** @param source absent: the items cannot be parsed again, so they are never parked */
  constructor(items: InputItem[], source?: InputSource) {
    this.given = items;
    this.source = source;
  }

  /** Returns all items in order. Do not change them in place. */
  read(): InputItem[] {
    const given = this.readGiven();
    return this.appended.length === 0 ? given : [...given, ...this.appended];
  }

  /** Returns the items without those that steps have appended. */
  readGiven(): InputItem[] {
    this.given ??= this.source!.read(); // without a source it is never parked
    return this.given;
  }

  /** Returns the `call_id` of each item that has one. Items that are parked stay parked. */
  listCallIds(): Set<unknown> {
    if (!this.callIds) {
      const isParked = this.given === undefined;
      this.callIds = readCallIds(this.readGiven());
      if (isParked) this.park();
    }
    return new Set([...this.callIds, ...readCallIds(this.appended)]);
  }

  /** The size of the caller's items while they are parked; undefined if they cannot be parked. */
  get bytes(): number | undefined {
    return this.source?.bytes;
  }

  /** Appends the output of a step and the results of its tools. They stay in memory. */
  append(items: readonly InputItem[]): void {
    if (this.appended.length === 0) this.source?.separate?.();
    for (const item of items) this.appended.push(item);
  }

  /** Replaces the caller's items. */
  replace(items: InputItem[]): void {
    this.given = items;
    this.source = undefined;
    this.callIds = undefined;
  }

  /** Frees the parsed items. The next `read` parses them again. */
  park(): void {
    if (this.source) this.given = undefined;
  }
}

const readCallIds = (items: readonly InputItem[]): unknown[] =>
  (items as readonly OutputItem[]).flatMap(({ call_id: id }) => (id === undefined ? [] : [id]));

/** Moves the input of a request into a conversation, so that the request does not keep it when it is parked. */
export function takeInput(request: ResponseRequest, source: InputSource | undefined): Conversation {
  const { input } = request;
  (request as { input?: InputItem[] | undefined }).input = undefined; // it belongs to the conversation from here on
  return new Conversation(input, source);
}
