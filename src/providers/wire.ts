import type { Chunk } from '../domain/chunks.ts';
import type { Special } from '../domain/endpoint.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { Usage } from '../domain/usage.ts';
import type { ImageWire } from './image-wire.ts';
import type { ProviderEntry } from './provider.ts';

/**
 * A **wire** is a protocol: a folder here, pure translation. A **provider** is an entry of the configuration that names
 * a wire, a base URL, keys and dialect settings; an **endpoint** is a model at a provider.
 *
 * The functions are synchronous and do no I/O; `transport.ts` does all their network.
 */
export interface Wire<ReaderContext = unknown> {
  /** The name in the configuration: `openai-chat`. */
  readonly id: string;
  /** Checks the `dialect` of a provider when it is configured. @throws {Error} naming the setting, for the operator */
  checkDialect?(settings: Readonly<Record<string, unknown>>): void;
  /** Headers that every request of the protocol needs; `headers` of the configuration may override them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The path of its requests for text, if an empty one to it is harmless: it shows whether a server speaks the protocol. */
  readonly probePath?: string;
  /** Headers that carry the operator's key. Not called when the provider has none. */
  authorize(apiKey: string): Record<string, string>;
  /** Whether it carries that. Absent: it carries nothing that is special. */
  carries?(special: Special, dialect: Readonly<Record<string, unknown>>): boolean;
  /**
   * Is it another spelling of the name of a model? Behind a wildcard callers may not use it, since guardrails, limits and
   * prices go by names.
   */
  isOtherSpelling?(upstreamModel: string): boolean;
  /**
   * Translates a request.
   *
   * @throws {GatewayError} `invalid_request` naming field and endpoint, when the wire cannot carry a field and leaving
   *   it out would change the meaning. What is harmless to leave out is listed in `dropped`.
   */
  writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext>;
  /** Reads a streamed answer. `readerContext` is what `writeRequest` gave. */
  createReader(readerContext: ReaderContext): Reader;
  /**
   * Reads a whole answer (parsed JSON) into the chunks a stream of the same answer would give, deltas joined.
   *
   * @throws {GatewayError} `upstream_failed` when the body makes no sense, or what the body says when it is an error
   */
  readWhole(body: unknown, readerContext: ReaderContext): Chunk[];
  /**
   * What a whole answer that `readWhole` refused says that it used. Absent: such answers count nothing.
   *
   * @param body undefined when there is none, or none that is JSON
   */
  countWhole?(body: unknown): Usage | undefined;
  /** What a status other than 2xx means. `body` is parsed JSON, or the text when it is none. */
  readError(answer: UpstreamErrorResponse): GatewayError;
  /**
   * Makes the wire of one provider, where it is not the same for all.
   *
   * @throws {Error} naming what is wrong, for the operator
   */
  forProvider?(entry: ProviderEntry): Wire;
  /** How it makes pictures for `POST /images`; absent: it does not. */
  readonly image?: ImageWire;
  /** False: it makes pictures only. */
  readonly generatesText?: false;
  /** For a provider inside this process (the simulator, a package): answers in place of the network. */
  readonly answer?: (request: UpstreamRequest<ReaderContext>, signal: AbortSignal) => AsyncIterable<Frame[]>;
}

/** One message of a streamed answer: the fields of a server-sent event. */
export interface Frame {
  /** The `event:` field; empty when there was none. */
  event: string;
  /** The `data:` lines, joined by a line feed. */
  data: string;
}

export interface Reader<C = Chunk> {
  /** @throws {GatewayError} when the frame is an error, or a frame we know has changed shape */
  read(frame: Frame): C[];
  /** The body ended in order. Gives what was held back; a `finish` chunk must have come by now. */
  end(): C[];
  /**
   * What the provider has counted so far, of an answer that broke off; output that it has not counted yet is 0. Absent:
   * the protocol counts at the end alone.
   */
  counted?(): Usage | undefined;
  /**
   * About how much it keeps of frames that gave no chunk, in UTF-16 units. Absent: nothing that a provider could make large.
   */
  keptLength?(): number;
}

/** Where a request goes, as far as a wire must know. */
export interface Target {
  /** For messages: `openai/gpt-5-mini at OpenAI`. */
  endpoint: string;
  upstreamModel: string;
  /** Ask for a streamed answer. */
  stream: boolean;
  /** `dialect` of the provider's configuration; each wire reads its own settings. */
  dialect: Readonly<Record<string, unknown>>;
  /** Keyed hash of the end user's id; absent when the caller named none. */
  endUser?: string;
  /** The model makes pictures and says nothing. */
  imagesOnly?: true;
}

export interface UpstreamRequest<ReaderContext = unknown> {
  /** Appended to the provider's base URL: `/chat/completions`. */
  path: string;
  headers?: Record<string, string>;
  body: Record<string, unknown>;
  /** Request fields left out because the wire has no place for them and nothing is lost; for the metadata. */
  dropped: string[];
  /** What the reader must know of the request, for example which functions stand for custom tools. */
  readerContext: ReaderContext;
}

export interface UpstreamErrorResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: unknown;
}

/** Keeps the type of `ReaderContext` between the functions of one wire and hides it from everybody else. */
export function defineWire<ReaderContext>(wire: Wire<ReaderContext>): Wire {
  // The reading of a wire only ever goes back to the wire that made it, so forgetting its type is safe.
  return wire as unknown as Wire;
}
