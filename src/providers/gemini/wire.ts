import type { OfferedTools } from '../kit/tool-box.ts';

/**
 * The shapes of `generateContent`, as far as we write or read them. What comes in is lenient: every field may be
 * missing, and `chunks.ts` looks at a value before it believes it.
 */
export interface GeminiContent {
  role: 'user' | 'model';
  parts: Part[];
}

export interface Part {
  text?: string;
  thoughtSignature?: string;
  inlineData?: { mimeType: string; data: string };
  fileData?: { mimeType?: string; fileUri: string };
  functionCall?: { id?: string; name: string; args: object };
  functionResponse?: { id?: string; name: string; response: object };
}

/** What the reader must know of the request. */
export interface ReaderContext {
  tools?: OfferedTools;
  /** The provider may search: then the whole text is kept, since its sources come by the place in it. */
  searches?: boolean;
  /** The response is to hold images and no words. */
  showsOnly?: boolean;
}

/** A whole response, or an event of a stream: they have one shape. */
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
