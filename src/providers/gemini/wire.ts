import type { OfferedTools } from '../kit/offered-tools.ts';

/**
 * The shapes of `generateContent` that the gateway writes or reads. Types of responses are lenient: every field may be
 * missing, and `chunks.ts` checks each value before it uses it.
 */
export interface GeminiContent {
  role: 'user' | 'model';
  parts: Part[];
}

export interface Part {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  fileData?: { mimeType?: string; fileUri: string };
  functionCall?: { id?: string; name: string; args: object };
  functionResponse?: { id?: string; name: string; response: object; parts?: Part[] };
}

/** Facts about the request that the reader needs. */
export interface ReaderContext {
  tools?: OfferedTools;
  /** Whether the provider may search. The reader then keeps the text, because citations refer to positions in it. */
  searches?: boolean;
  /** Whether the response must contain images and no text. */
  showsOnly?: boolean;
  /** Whether the client has the same format, and gets what only the format can say. */
  keepsNative?: boolean;
}

/** A buffered response, or an event of a stream. Both have the same shape. */
export interface GeminiResponse {
  candidates?: unknown;
  promptFeedback?: { blockReason?: unknown } | null;
  usageMetadata?: Record<string, unknown> | null;
  modelVersion?: unknown;
  error?: unknown;
  [field: string]: unknown;
}

export interface Candidate {
  content?: { parts?: unknown } | null;
  finishReason?: unknown;
  [field: string]: unknown;
}
