import type { Chunk } from '../domain/chunks.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { Usage } from '../domain/usage.ts';
import type { ImageWire } from './image-wire.ts';
import type { ProviderEntry } from './provider.ts';
import type { TextWire } from './text-wire.ts';

export { defineImageWire, type ImageUpstreamRequest, type ImageWire, type Poll } from './image-wire.ts';
export { defineTextWire, type TextWire } from './text-wire.ts';

/**
 * A **wire** is a protocol: a folder here, pure translation. A **provider** is an entry of the configuration that names
 * a wire, a base URL, keys and dialect settings; an **endpoint** is a model at a provider.
 *
 * A capability that the protocol does not have is an absent field. The functions are synchronous and do no I/O;
 * `transport.ts` does all their network.
 */
export interface Wire {
  /** The name in the configuration: `openai-chat`. */
  readonly id: string;
  /** Checks the `dialect` of a provider when it is configured. @throws {Error} naming the setting, for the operator */
  checkDialect?(settings: Readonly<Record<string, unknown>>): void;
  /** Headers that every request of the protocol needs; `headers` of the configuration may override them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers that carry the operator's key. Not called if the provider has no key. */
  authorize(apiKey: string): Record<string, string>;
  /**
   * Whether this is another spelling of the name of a model. Callers cannot use it behind a wildcard, since guardrails,
   * limits and prices go by names.
   */
  isOtherSpelling?(upstreamModel: string): boolean;
  /** Interprets a status other than 2xx. `body` is parsed JSON, or the text if it is not JSON. */
  readError(answer: UpstreamErrorResponse): GatewayError;
  /**
   * Creates the wire of one provider, if it is not the same for all.
   *
   * @throws {Error} naming what is wrong, for the operator
   */
  forProvider?(entry: ProviderEntry): Wire;
  /** For `POST /responses`. Absent: the wire generates no text. */
  readonly text?: TextWire;
  /** For `POST /images`. Absent: the wire generates no images. */
  readonly image?: ImageWire;
}

/** One message of a streamed response: the fields of a server-sent event. */
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
   * What the provider has counted so far, of a response that was interrupted; output that it has not counted yet is 0. Absent:
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
  /** Ask for a streamed response. */
  stream: boolean;
  /** `dialect` of the provider's configuration; each wire reads its own settings. */
  dialect: Readonly<Record<string, unknown>>;
  /** Keyed hash of the end user's id; absent when the caller named none. */
  endUser?: string;
  /** The model makes images and says nothing. */
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
