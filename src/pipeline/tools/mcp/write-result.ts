import type { ImageMediaType } from '../../../domain/images.ts';
import type { McpResult } from '../../../domain/mcp.ts';
import { parseImage } from '../../../domain/parse-image.ts';

/** A block of the content of a result. */
type Block = Readonly<Record<string, unknown>>;

/** A result for a model. */
export interface WrittenResult {
  text: string;
  /** Data URLs, in their order. */
  images: readonly string[];
}

/**
 * Writes the result of a tool. Texts are unchanged. A description replaces each image, sound and file, without their bytes.
 *
 * @param takesImages whether the images are returned beside the text
 * @see docs/reference/choices.md, choice 434
 */
export function writeMcpResult({ content, structuredContent }: McpResult, takesImages: boolean): WrittenResult {
  const images: string[] = [];
  const texts = content
    .map((block) => writeBlock(block, takesImages ? images : undefined))
    .filter((text) => text !== '');
  const isBare = texts.length === 0 && structuredContent;
  return { text: isBare ? JSON.stringify(structuredContent) : texts.join('\n'), images };
}

function writeBlock(block: Block, images: string[] | undefined): string {
  const { type, text, resource } = block;
  if (type === 'text') return typeof text === 'string' ? text : '';
  if (type === 'image') return describe(block, images && addImage(block['data'], images));
  if (type === 'resource' && typeof resource === 'object' && resource !== null) {
    const held = resource as Block;
    if (typeof held['text'] === 'string') return held['text'];
    return describe({ type, ...held }, images && addImage(held['blob'], images));
  }
  return describe(block);
}

/** Returns whether the bytes are an image that models take. A broken one would fail the request of the model. */
function addImage(data: unknown, images: string[]): boolean {
  if (typeof data !== 'string') return false;
  const image = parseImage(Buffer.from(data, 'base64'));
  if (!image || !shown.has(image.mediaType)) return false;
  images.push(`data:${image.mediaType};base64,${image.bytes.toString('base64')}`);
  return true;
}

/** The types that every provider takes. */
const shown: ReadonlySet<ImageMediaType> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** Replaces the bytes by their number. @param isShown whether the model sees them as an image after the text */
function describe(block: Block, isShown = false): string {
  const place = isShown ? 'which follow as an image' : 'which the gateway does not pass on';
  return JSON.stringify(block, (key, value: unknown) => {
    if (key === '_meta') return undefined;
    const isData = (key === 'data' || key === 'blob') && typeof value === 'string';
    return isData ? `${Math.floor((value.length * 3) / 4)} bytes, ${place}` : value;
  });
}
