import type { Chunk } from '../domain/chunks.ts';
import type { Special } from '../domain/endpoint.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { Usage } from '../domain/usage.ts';
import type { Frame, Reader, Target, UpstreamRequest, Wire } from './wire.ts';

/** Generates text: the `text` of a `Wire`. All functions are synchronous translation without I/O. */
export interface TextWire<ReaderContext = unknown> {
  /**
   * The path of its requests, if an empty request to it is harmless. It shows whether a server supports the protocol.
   */
  readonly probePath?: string;
  /** Whether it supports a special item or tool. Absent: it supports none. */
  carries?(special: Special, dialect: Readonly<Record<string, unknown>>): boolean;
  /**
   * Translates a request.
   *
   * @throws {GatewayError} `invalid_request` naming field and endpoint, if the wire cannot carry a field and omitting
   *   it would change the meaning. Fields that are harmless to omit are listed in `dropped`.
   */
  writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<ReaderContext>;
  /** Creates the reader of a streamed response. `readerContext` comes from `writeRequest`. */
  createReader(readerContext: ReaderContext): Reader;
  /**
   * Reads a buffered response (parsed JSON) into the joined chunks of a stream of the same response.
   *
   * @throws {GatewayError} `upstream_failed` if the body is invalid, or the error that the body reports
   */
  readWhole(body: unknown, readerContext: ReaderContext): Chunk[];
  /**
   * Returns the usage of a buffered response that `readWhole` rejected. Absent: such responses report no usage.
   *
   * @param body undefined if there is no body or it is not JSON
   */
  countWhole?(body: unknown): Usage | undefined;
  /** Counts the tokens of an input. Absent: the protocol has no such call. */
  readonly count?: TokenCount;
  /** Responds inside this process (the simulator, a package), without the network. */
  readonly send?: (request: UpstreamRequest<ReaderContext>, signal: AbortSignal) => AsyncIterable<Frame[]>;
}

/** The call that counts the tokens of an input without generating anything. */
export interface TokenCount {
  /** @param written the request that would generate the response */
  writeRequest(written: UpstreamRequest): Pick<UpstreamRequest, 'path' | 'body'>;
  /** @returns the tokens; undefined if the body is invalid */
  read(body: unknown): number | undefined;
}

/** Keeps the type of `ReaderContext` between the functions of one wire and hides it from all others. */
export function defineTextWire<ReaderContext>(text: TextWire<ReaderContext>): TextWire {
  // Only the wire that created a reader context receives it, so dropping its type is safe.
  return text as unknown as TextWire;
}

/** @throws {GatewayError} `wrong_endpoint` if the wire generates no text */
export function getTextWire(wire: Wire): TextWire {
  if (wire.text) return wire.text;
  const paths = [wire.image && 'POST /images', wire.embedding && 'POST /embeddings', wire.rerank && 'POST /rerank'];
  throw new GatewayError(
    'wrong_endpoint',
    `The wire ${wire.id} generates no text: send the request to ${paths.filter(Boolean).join(' or ')}.`,
  );
}
