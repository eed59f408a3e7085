/**
 * The part of a request that only its own format can say. The wire of that format writes it; all others get the request
 * without it, and report it as dropped.
 *
 * @see docs/reference/messages.md#the-native-wire
 */
export interface NativeRequest {
  /** The wire that understands it. */
  readonly format: 'anthropic-messages' | 'openai-chat' | 'gemini';
  /** Top-level fields as the client sent them. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Tools that run at the provider, as the client sent them, by the type of the gateway's tool that does the same. */
  readonly tools: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The version of the format that the client named. */
  readonly version: string | undefined;
  /** Features that the client named in a header. */
  readonly betas: readonly string[];
  /** The settings that `fields` replaces, as long as no stage has changed them. */
  readonly replaces: {
    readonly reasoning?: unknown;
    readonly text?: unknown;
    readonly modalities?: unknown;
    readonly tool_choice?: unknown;
  };
}

/** Fields of `generationConfig` in the Gemini format that the request of the gateway contains completely. */
export const translatedGeminiSettings: ReadonlySet<string> = new Set([
  ...['candidateCount', 'frequencyPenalty', 'imageConfig', 'logprobs', 'maxOutputTokens', 'presencePenalty'],
  ...['responseJsonSchema', 'responseLogprobs', 'responseMimeType', 'responseModalities', 'responseSchema', 'seed'],
  ...['stopSequences', 'temperature', 'thinkingConfig', 'topK', 'topP'],
]);

/** The name of a document without a title, because some protocols require one. A wire without names does not report it. */
export const UNTITLED_DOCUMENT = 'document.pdf';

/** The text of a call that failed, where a format or a server demands one. */
export const FAILED_CALL = 'The call failed.';

/** The field of an item, a part or a tool that contains what only the format can say. */
export const NATIVE_FIELD = 'native';

/** Begins the name of a field of `function`, among the native fields of a tool of chat completions. */
export const FUNCTION_PREFIX = 'function.';

/** Returns what only the format can say about an item, a part or a tool. */
export function readNative(object: object): Readonly<Record<string, unknown>> | undefined {
  const native = (object as Record<string, unknown>)[NATIVE_FIELD];
  return typeof native === 'object' && native !== null ? (native as Record<string, unknown>) : undefined;
}

/** Content of the format that no part of ours can express, such as the result of a tool that the provider ran. */
export interface NativePart {
  type: `${'anthropic' | 'chat' | 'gemini'}:${string}`;
  /** The block as the client sent it. */
  block: Record<string, unknown>;
}

const nativePrefix = /^(?:anthropic|chat|gemini):/;

/** Whether a part is a block of the format, unchanged. */
export const isNativePart = (part: { type: string }): part is NativePart => nativePrefix.test(part.type);

/** Returns the kind of a block, a part or a tool as the client named it. */
export const nameKind = (type: string): string => type.replace(nativePrefix, '');

/**
 * The place of a text in a block that consists of several texts. The texts stay parts of their own, so that guardrails
 * and other models see them. The wire joins neighbors with the same `id` again.
 */
export interface BlockPlace {
  id: number;
  type: 'search_result' | 'document';
  field: 'title' | 'source' | 'context' | 'text' | 'content';
  /** Fields of the block that contain no text of the caller's. */
  settings?: Record<string, unknown>;
}

/** Fields that a provider reports about a response in the format of the client, besides its items. */
export interface NativeOutput {
  readonly start?: NativeStart;
  readonly end?: NativeEnd;
}

export interface NativeStart {
  /** Counts at the beginning. */
  readonly usage: Record<string, unknown>;
  /** Other fields of the message. */
  readonly fields: Record<string, unknown>;
}

export interface NativeEnd {
  /** The reason of the end, and other changes of the message. */
  readonly delta: { stop_reason: string; stop_sequence?: string | null; [field: string]: unknown };
  readonly usage: Record<string, unknown>;
  /** Other fields of the last event. */
  readonly fields: Record<string, unknown>;
}

/** Whether the caller of a call is the model itself, as it is without the field. */
export const isDirect = (caller: unknown): boolean =>
  typeof caller === 'object' && caller !== null && (caller as { type?: unknown }).type === 'direct';
