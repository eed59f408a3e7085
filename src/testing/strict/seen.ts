/** A request as a server sees it, whatever its format. The readers of the formats create it, the checks use it. */
export interface Seen {
  /** The object with the settings of the request: the body, or a part of it. */
  settings: Record<string, unknown>;
  /** The messages with the system prompt, in their order. */
  messages: SeenMessage[];
  /** The functions. Absent if the body has no list of tools. */
  tools?: SeenTool[];
  choice?: 'auto' | 'none' | 'required' | 'named';
  /** The name of a named choice. */
  hosted?: string[];
  chosen?: string;
  format?: { kind: 'json_object' | 'json_schema'; schema?: Schema };
  stops: string[];
  output?: number;
  /** Whether the request turns reasoning on. Undefined if it does not say. */
  thinking?: boolean;
  effort?: string;
  stream: boolean;
  /** The marks of the cache, in the order of the prompt. */
  marks: { ttl?: string; scope?: string; isEmpty?: boolean }[];
  /** What makes the body invalid in its format. */
  fault?: string;
}

export type Schema = Record<string, unknown>;

export interface SeenMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  texts: string[];
  calls: { id: string; name: string; arguments: unknown }[];
  results: { id: string; hasImages: boolean; isEmpty: boolean; kinds: string[] }[];
  images: SeenImage[];
  /** The types of the parts of its content: `text`, `image_url`. */
  kinds: string[];
  name?: string;
  prefix?: boolean;
  /** Whether earlier reasoning comes back with it. */
  hasReasoning: boolean;
  /** Whether its calls have the signature of the model. */
  isSigned?: boolean;
}

export interface SeenImage {
  /** Absent: the image is a link. */
  data?: string;
  type?: string;
}

export interface SeenTool {
  name: string;
  description?: string;
  parameters?: Schema;
  strict?: unknown;
}

export const emptyMessage = (role: SeenMessage['role']): SeenMessage => ({
  role,
  texts: [],
  calls: [],
  results: [],
  images: [],
  kinds: [],
  hasReasoning: false,
});

/** Reads a data URL of an image. Any other URL is a link. */
export function seeImage(url: unknown): SeenImage {
  const found = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(String(url));
  return found ? { type: found[1]!, data: found[2]! } : {};
}

/** Parses JSON. Returns undefined if it is none. */
export function parseArguments(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

export const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
