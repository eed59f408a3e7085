import type { InputItem } from '../../domain/items.ts';

/** A piece of a parsed file. */
export type FileContent = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/** The annotation that lets a client skip parsing: it sends the message back with it. */
export interface FileAnnotation {
  type: 'file';
  file: {
    /** SHA-256 of the bytes in hex, a hyphen, and the engine. */
    hash: string;
    name?: string;
    content: FileContent[];
  };
}

/** @param digest SHA-256 in hex. choice 381 */
export const hashOf = (digest: string, engine: string): string => `${digest}-${engine}`;

/** Collects the parsed files in the annotations of earlier messages: hash → content. */
export function collectAnnotations(input: readonly InputItem[]): ReadonlyMap<string, FileContent[]> {
  const found = new Map<string, FileContent[]>();
  for (const item of input) {
    if (item.type !== 'message' || !('content' in item) || !Array.isArray(item.content)) continue;
    for (const part of item.content as { annotations?: unknown }[]) {
      if (!Array.isArray(part?.annotations)) continue;
      for (const annotation of part.annotations) {
        const file = readAnnotation(annotation);
        if (file) found.set(file.hash, file.content);
      }
    }
  }
  return found;
}

function readAnnotation(annotation: unknown): FileAnnotation['file'] | undefined {
  const { type, file } = (annotation ?? {}) as { type?: unknown; file?: unknown };
  if (type !== 'file' || typeof file !== 'object' || file === null) return undefined;
  const { hash, content } = file as { hash?: unknown; content?: unknown };
  if (typeof hash !== 'string' || !Array.isArray(content) || content.length === 0) return undefined;
  return content.every(isContent) ? { hash, content } : undefined;
}

function isContent(piece: unknown): piece is FileContent {
  const { type, text, image_url: image } = (piece ?? {}) as Record<string, unknown>;
  if (type === 'text') return typeof text === 'string';
  return type === 'image_url' && typeof (image as { url?: unknown } | null)?.url === 'string';
}
