import type { FinishChunk } from '../../domain/chunks.ts';
import type { GatewayError, RefusalLesson } from '../../domain/errors.ts';
import type { ImageDigest } from '../../domain/image-digest.ts';
import type { EncodedImage, ImageCounts, ImageFinishChunk } from '../../domain/images.ts';
import type { NativeOutput } from '../../domain/native.ts';
import type { Cost, Usage } from '../../domain/usage.ts';
import type { InFlightRequest } from '../../metering/journal.ts';
import type { CheckedText } from '../../domain/json-format.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { Learned } from '../../providers/rules/lessons.ts';
import type { Wire } from '../../providers/wire.ts';
import type { KeptSize } from '../events/kept-size.ts';
import type { ByteShare } from '../images/byte-budget.ts';

/** The usage and cost of an attempt. */
export interface AttemptCost {
  usage: Usage;
  cost: Cost;
  /** The service tier whose price counts. */
  tier: string | null;
  /** Absent: the endpoint generates no images. */
  pictures?: ImageCounts;
}

/**
 * One try on one endpoint with one key and one wire, and everything learned from it. Created for the try, filled during
 * the try, and never reset: another try is another attempt. Times are of `performance.now()`.
 */
export interface Attempt {
  readonly endpoint: Endpoint;
  /** The protocol of its provider that it uses. */
  readonly wire: Wire;
  /** Whether no other endpoint, key or wire is left for its step: at most a retry follows. */
  readonly isLast: boolean;
  /** Whether it repeats a failed attempt of its step at the same endpoint. */
  readonly isRetry: boolean;
  /** The HTTP status. 200 while it is in progress and after it has succeeded. */
  status: number;
  error: GatewayError | undefined;
  /** Index of the provider's key. Undefined before it was sent, or without keys. */
  key: number | undefined;
  /** The model that the provider reports, cleaned; undefined if it reports none. */
  upstreamModel: string | undefined;
  /** The provider's id of its request. Undefined: it sent none. */
  upstreamRequestId: string | undefined;
  /** The service tier that a header of the response names. Undefined: none does. */
  upstreamTier: string | undefined;
  /** Request fields that were not sent, and response fields that were not passed on. */
  droppedFields: readonly string[];
  droppedUpstreamFields: readonly string[];
  /** Changes without a loss that the rules of the endpoint demanded. */
  adapted: readonly string[];
  /** What it leaves out, because the attempts before it were refused. */
  readonly lessons: readonly RefusalLesson[];
  /** The lessons that are new, after it has succeeded. */
  learned: readonly Learned[];
  /** The changes that make the endpoint accept the request, as sentences. */
  adjustments: readonly string[];
  /** Undefined if it failed before it was sent. */
  dispatchedAt: number | undefined;
  /** Whether the provider may have received it: a connection was there to write it. */
  isSent: boolean;
  /** Time of the provider's first output. For a buffered response, the time when it was complete. */
  firstOutputAt: number | undefined;
  endedAt: number | undefined;
  finish: FinishChunk | ImageFinishChunk | WholeFinish | undefined;
  /** Its line in the journal. */
  begun: InFlightRequest | undefined;
  /** Its usage and cost. Undefined if it used nothing. */
  spent: AttemptCost | undefined;
}

/** An attempt to generate a response. */
export interface TextAttempt extends Attempt {
  finish: FinishChunk | undefined;
  /** The names of the fields of the body. */
  sentFields: readonly string[];
  /** Whether the provider streams its response. The client may get it as a whole. */
  isStreamed: boolean;
  /** The sent input: estimated tokens of its text without tools, and its number of images. */
  sent: { readonly tokens: number; readonly images: number };
  /** Estimated tokens of the text, reasoning and arguments that the provider produced. */
  producedTokens: number;
  /** Size of its output and of the turns before it. Undefined before it was sent. */
  kept: KeptSize | undefined;
  /** The provider's counts when its output was interrupted. */
  counted: Usage | undefined;
  /** Whether the input adds tools to those in `tools`. */
  hasLateTools: boolean;
  /** Repairs and checks a text. Undefined: the provider enforces the format, there is none, or the response is streamed. */
  checkFormat: ((text: string) => Promise<CheckedText>) | undefined;
  /** Whether its output is the summary of the conversation. */
  writesSummary: boolean;
  /** Fields that the provider reported in the format of the client. Undefined for a client of another format. */
  native: NativeOutput | undefined;
}

/** An image whose digest the content log keeps. */
export interface Digested {
  /** Only if the caller's workspace keeps contents. */
  digest?: ImageDigest;
}

/** An attempt to generate images. */
export interface ImageAttempt extends Attempt {
  finish: ImageFinishChunk | undefined;
  /** Sizes of the images that were passed on; undefined where an image has none. */
  readonly made: (Pick<EncodedImage, 'width' | 'height'> & Digested)[];
  /** Its share of the memory for responses; freed when it fails, or when the client has the last image. */
  readonly memory: ByteShare;
}

/** The parts of the finish of embeddings and reranks that an attempt keeps. */
export interface WholeFinish {
  type: 'finish';
  usage?: Usage | undefined;
}

/** An attempt to make embeddings or to rerank documents, with one call or several. */
export interface RetrievalAttempt extends Attempt {
  finish: WholeFinish | undefined;
  /** The usage of each call that succeeded, even if another one failed. */
  readonly counted: Usage[];
  /** Its share of the memory for responses; freed when it fails, or when the client has the response. */
  readonly memory: ByteShare;
}

/** The place of an attempt in its step. */
export type AttemptTurn = Pick<Attempt, 'wire' | 'isLast' | 'isRetry'> & Partial<Pick<Attempt, 'lessons'>>;

const nothing: readonly string[] = [];
const nothingSent = { tokens: 0, images: 0 };

const createAttempt = (endpoint: Endpoint, { wire, isLast, isRetry, lessons = [] }: AttemptTurn): Attempt => ({
  endpoint,
  wire,
  isLast,
  isRetry,
  status: 200,
  error: undefined,
  key: undefined,
  upstreamModel: undefined,
  upstreamRequestId: undefined,
  upstreamTier: undefined,
  droppedFields: nothing,
  droppedUpstreamFields: nothing,
  adapted: nothing,
  lessons,
  learned: [],
  adjustments: nothing,
  dispatchedAt: undefined,
  isSent: false,
  firstOutputAt: undefined,
  endedAt: undefined,
  finish: undefined,
  begun: undefined,
  spent: undefined,
});

export const createTextAttempt = (endpoint: Endpoint, turn: AttemptTurn): TextAttempt => ({
  ...createAttempt(endpoint, turn),
  finish: undefined,
  sentFields: nothing,
  isStreamed: false,
  sent: nothingSent,
  producedTokens: 0,
  kept: undefined,
  counted: undefined,
  hasLateTools: false,
  checkFormat: undefined,
  writesSummary: false,
  native: undefined,
});

export const createImageAttempt = (endpoint: Endpoint, turn: AttemptTurn, memory: ByteShare): ImageAttempt => ({
  ...createAttempt(endpoint, turn),
  finish: undefined,
  made: [],
  memory,
});

export const createRetrievalAttempt = (endpoint: Endpoint, turn: AttemptTurn, memory: ByteShare): RetrievalAttempt => ({
  ...createAttempt(endpoint, turn),
  finish: undefined,
  counted: [],
  memory,
});
