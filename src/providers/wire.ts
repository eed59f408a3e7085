import type { Chunk } from '../domain/chunks.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { Usage } from '../domain/usage.ts';
import type { ImageWire } from './image-wire.ts';
import type { ProviderEntry } from './provider.ts';
import type { TextWire } from './text-wire.ts';
import type { Restore } from './rules/fit/restore.ts';
import type { EmbeddingWire, RerankWire } from './whole-wire.ts';

export { defineEmbeddingWire, defineRerankWire, type EmbeddingWire, type RerankWire } from './whole-wire.ts';
export { defineImageWire, type ImageUpstreamRequest, type ImageWire, type Poll } from './image-wire.ts';
export { defineTextWire, type TextWire } from './text-wire.ts';

/**
 * A **wire** is a protocol: a folder here, pure translation. A **provider** is an entry of the configuration that names
 * a wire, a base URL, keys and dialect settings. An **endpoint** is a model at a provider.
 *
 * A capability that the protocol does not have is an absent field. The functions are synchronous and do no I/O.
 * `transport.ts` does all their network I/O.
 */
export interface Wire {
  /** The name in the configuration: `openai-chat`. */
  readonly id: string;
  /**
   * Checks the `dialect` of a provider when it is configured.
   *
   * @param mayShow whether messages may have values. Absent: true
   * @throws {DialectError} with every problem
   */
  checkDialect?(settings: Readonly<Record<string, unknown>>, mayShow?: boolean): void;
  /** Headers that every request of the protocol needs; `headers` of the configuration may override them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether its servers can be gateways with this interface. They get the headers of `domain/depth-headers.ts`. */
  readonly reachesGateways?: true;
  /** Headers that carry the operator's key. Not called if the provider has no key. */
  authorize(apiKey: string): Record<string, string>;
  /** The path of the list of models, with all of them on one page. Absent: `/models`. */
  readonly modelsPath?: string;
  /**
   * Whether a name is another spelling of a model's name. Callers cannot use it through a wildcard, because guardrails,
   * limits and prices depend on names.
   */
  isOtherSpelling?(upstreamModel: string): boolean;
  /** The header of a response that names its service tier, for a body that does not. Its words are those of the interface. */
  readonly tierHeader?: string;
  /** Interprets a status other than 2xx. `body` is parsed JSON, or the text if it is not JSON. */
  readError(response: UpstreamErrorResponse): GatewayError;
  /**
   * Creates the wire of one provider, if providers need different ones.
   *
   * @throws {Error} naming the invalid setting, for the operator
   */
  forProvider?(entry: ProviderEntry): Wire;
  /** For `POST /responses`. Absent: the wire generates no text. */
  readonly text?: TextWire;
  /** For `POST /images`. Absent: the wire generates no images. */
  readonly image?: ImageWire;
  /** For `POST /embeddings`. Absent: the wire makes no embeddings. */
  readonly embedding?: EmbeddingWire;
  /** For `POST /rerank`. Absent: the wire reranks nothing. */
  readonly rerank?: RerankWire;
}

/** One message of a streamed response: the fields of a server-sent event. */
export interface Frame {
  /** The `event:` field. Empty if there is none. */
  event: string;
  /** The `data:` lines, joined by a line feed. */
  data: string;
}

/** Reads the frames of one streamed response. */
export interface Reader<C = Chunk> {
  /** @throws {GatewayError} if the frame is an error, or a known frame has an invalid shape */
  read(frame: Frame): C[];
  /**
   * Called at the regular end of the body. Returns the chunks that are still buffered. The last one may be `finish`.
   */
  end(): C[];
  /**
   * Returns the provider's counts if its response was interrupted. Output that the provider has not counted is 0.
   * Absent: the protocol counts only at the end.
   */
  counted?(): Usage | undefined;
  /**
   * Returns approximately how much it keeps of frames that gave no chunk, in UTF-16 units. Absent: nothing that can
   * grow large.
   */
  keptLength?(): number;
}

/** The destination of a request, with the facts that a wire needs. */
export interface Target {
  /** For messages: `openai/gpt-5-mini at OpenAI`. */
  endpoint: string;
  upstreamModel: string;
  /** The model behind a name that does not say it. Absent: `upstreamModel`. */
  rulesOf?: string;
  /** Whether to request a streamed response. */
  stream: boolean;
  /** `dialect` of the provider's configuration. Each wire reads its own settings. */
  dialect: Readonly<Record<string, unknown>>;
  /** Keyed hash of the end user's id. Absent if the caller sent none. */
  endUser?: string;
  /** Keyed hash of the workspace, for servers that take one if there is no end user. Absent: they get none. */
  account?: string;
  /** Keyed hash of the session, for servers whose cache belongs to a conversation. Absent: the client named none. */
  session?: string;
  /** Set if reasoning comes back in a later turn. A provider that encrypts it only on request must then encrypt it. */
  sealsReasoning?: true;
  /** Set if the client shows the sources of a search. A provider that lists them only on request must then list them. */
  showsSources?: true;
  /** Set if a call that the provider ran itself, of a tool that the client did not offer, has no form in its API. */
  onlyOfferedCalls?: true;
  /** Set if the model generates images without text. */
  imagesOnly?: true;
}

export interface UpstreamRequest<ReaderContext = unknown> {
  /** Appended to the provider's base URL: `/chat/completions`. */
  path: string;
  headers?: Record<string, string>;
  body: Record<string, unknown>;
  /** Request fields that the wire cannot carry and that do not change the meaning. The metadata lists them. */
  dropped: string[];
  /** Changes without a loss that make the server accept the request. The metadata lists them. Absent: none. */
  adapted?: readonly string[];
  /** What the response must change back. Absent: nothing. */
  restore?: Restore;
  /** Facts about the request that the reader needs, for example which functions represent custom tools. */
  readerContext: ReaderContext;
}

export interface UpstreamErrorResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: unknown;
}
