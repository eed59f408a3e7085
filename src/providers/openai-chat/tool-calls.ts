import type { Chunk } from '../../domain/chunks.ts';
import { GrowingText } from '../../domain/growing-text.ts';
import { createId } from '../../domain/ids.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { OpenCall, takeCallId } from '../kit/open-call.ts';
import { WholeObject } from '../kit/whole-object.ts';
import { findThoughtSignature, signatureFormat } from '../../domain/thought-signature.ts';
import type { ChatToolCallPiece, ReaderContext } from './wire.ts';

interface Call {
  /** The server's id. Empty until it is known. */
  id: string;
  /** The id for the client: the server's id, unless another call of the response has it. */
  callId: string;
  name: string;
  /** Arguments that arrived before the id and the name. */
  held: GrowingText | undefined;
  /** Set once the call has been passed on. */
  open: OpenCall | undefined;
  /** The arguments so far, if they came in one piece, which is a whole object. */
  whole: string | undefined;
  hasArguments: boolean;
  readonly object: WholeObject;
}

/** UTF-16 units that count for a call in addition to its texts. */
const CALL_UNITS = 256;

/** Assembles the calls of one response from pieces, which may be interleaved, late or repeated. */
export class CallReader {
  /** @see Reader.keptLength */
  keptLength = 0;
  private readonly readerContext: ReaderContext;
  private readonly dropped: Set<string>;
  private readonly callIds = new Set<string>();
  private readonly byId = new Map<string, Call>(); // the first call if several share an id
  private readonly calls: Call[] = []; // in the order of their first piece
  private readonly slots = new Map<number, Call>(); // the index upstream → the call in progress at it

  constructor(readerContext: ReaderContext, dropped: Set<string>) {
    this.readerContext = readerContext;
    this.dropped = dropped;
  }

  /** Whether each call has its name and all of its arguments. */
  get areWhole(): boolean {
    return this.calls.every(({ name, object }) => name !== '' && object.isWhole);
  }

  /**
   * Reads a piece of a call.
   *
   * @param piece an entry of `tool_calls`, complete or partial
   * @param known.place index in the list of a buffered message, where every entry is a separate call
   * @param known.signature the last signature in `reasoning_details`. Gateways repeat it on the call.
   */
  read(piece: ChatToolCallPiece, chunks: Chunk[], known: { place?: number; signature?: string } = {}): void {
    const id = piece.id ? String(piece.id) : '';
    const call = this.findCall(piece, id, known.place ?? piece.index);
    if (id !== '' && call.id === '') {
      call.callId = takeCallId(id, this.callIds);
      call.id = id;
      if (!this.byId.has(id)) this.byId.set(id, call);
    }
    for (const key in piece) {
      if (key === 'id' || key === 'index' || key === 'type' || key === 'function') continue;
      const signature = key === 'extra_content' ? findThoughtSignature(piece[key]) : undefined;
      if (signature !== undefined && !call.open) {
        if (signature !== known.signature)
          chunks.push({ type: 'reasoning_seal', format: signatureFormat, encryptedContent: signature });
        continue;
      }
      if (piece[key] !== null) this.dropped.add(`message.tool_calls[].${key}`);
    }
    const { name, arguments: text } = piece.function ?? {};
    if (typeof name === 'string' && call.name === '') call.name = name;
    if (!call.open && call.callId !== '' && call.name !== '') this.announce(call, chunks);
    if (typeof text === 'string') this.addArguments(call, text, chunks);
    else if (text !== null && text !== undefined) this.addArguments(call, JSON.stringify(text), chunks);
  }

  /**
   * Passes on the calls that waited for the end of the response.
   *
   * @param cut whether the token limit truncated the response; empty arguments are then kept
   */
  end(chunks: Chunk[], cut: boolean): void {
    this.placeStrayArguments(chunks);
    for (const call of this.calls) {
      if (!call.open) {
        if (call.name === '') {
          this.dropped.add('message.tool_calls[] (without a name)');
          continue;
        }
        if (call.callId === '') call.callId = createId('call_');
        this.announce(call, chunks);
      }
      call.open?.end(chunks, cut);
    }
  }

  /**
   * Gives arguments at an index that no call has to a call without arguments: some servers count the pieces from another number than
   * the names. See https://github.com/danny-avila/LibreChat/issues/13987.
   */
  private placeStrayArguments(chunks: Chunk[]): void {
    for (const stray of this.calls.filter(({ id, name, held }) => id === '' && name === '' && held !== undefined)) {
      const call = this.calls.find(({ name, hasArguments }) => name !== '' && !hasArguments);
      if (!call) return;
      this.calls.splice(this.calls.indexOf(stray), 1);
      this.addArguments(call, stray.held!.text, chunks);
    }
  }

  private open(index: number | undefined): Call {
    const call: Call = {
      id: '',
      callId: '',
      name: '',
      held: undefined,
      open: undefined,
      whole: undefined,
      hasArguments: false,
      object: new WholeObject(),
    };
    this.calls.push(call);
    this.keptLength += CALL_UNITS;
    if (index !== undefined) this.slots.set(index, call);
    return call;
  }

  /**
   * Finds the call of a piece, or opens one. Some servers send no index, others index 0 for every call. For these, a
   * new id, or a name without an id, starts a call. So does a whole object after a whole object: dyedd/lens#49.
   */
  private findCall(piece: ChatToolCallPiece, id: string, index: unknown): Call {
    const named = (piece.function?.name ?? '') !== '';
    if (typeof index === 'number') {
      const call = this.slots.get(index);
      // Some servers begin a call at one index and send its arguments at another: agno-agi/agno#8880.
      const last = id === '' && !named ? this.calls.at(-1) : undefined;
      if (call === undefined) {
        if (!last || last.hasArguments) return this.open(index);
        this.slots.set(index, last);
        return last;
      }
      const isAnother = id !== '' && call.id !== '' && call.id !== id && named;
      if (isAnother) return this.open(index);
      if (id !== '' || named || !followsWhole(call, piece.function?.arguments)) return call;
      const next = this.open(index);
      next.name = call.name;
      return next;
    }
    if (id !== '') return this.byId.get(id) ?? this.open(undefined);
    return named ? this.open(undefined) : (this.calls.at(-1) ?? this.open(undefined));
  }

  private announce(call: Call, chunks: Chunk[]): void {
    call.open = new OpenCall(this.readerContext.tools, call, chunks);
    if (!call.held) return;
    call.open.push(call.held.text, chunks);
    call.held = undefined;
  }

  private addArguments(call: Call, text: string, chunks: Chunk[]): void {
    call.object.add(text);
    if (text !== '') {
      call.whole = !call.hasArguments && isObject(text) ? text : undefined;
      call.hasArguments = true;
    }
    if (call.open) {
      const before = call.open.keptLength;
      call.open.push(text, chunks);
      this.keptLength += call.open.keptLength - before;
    } else {
      call.held ??= new GrowingText();
      call.held.add(text);
      this.keptLength += text.length;
    }
  }
}

const isObject = (text: string): boolean =>
  /^\s*\{/.test(text) && text.trimEnd().endsWith('}') && parseObject(text) !== undefined;

/** Whether arguments are those of another call: nothing can follow a whole object. A repeated object is no other call. */
const followsWhole = ({ whole }: Call, text: unknown): boolean =>
  whole !== undefined && typeof text === 'string' && text !== whole && isObject(text);
