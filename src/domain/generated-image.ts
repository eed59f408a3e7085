import type { InputItem, OutputItem } from './items.ts';

/** An image that a model generated earlier in the conversation. */
export interface GeneratedImage {
  /** Base64. */
  data: string;
  mediaType: string;
}

/** Precedes the image if only the user may send images in the protocol. */
export const generatedImageHeading = '[Image made by the assistant]';

/** @returns undefined if the item contains no image because the call failed or returned a link */
export function readGeneratedImage(item: InputItem | OutputItem): GeneratedImage | undefined {
  const { result } = item as { result?: unknown };
  return typeof result === 'string' && result !== '' ? { data: result, mediaType: typeOf(result) } : undefined;
}

/** Returns the media type by the first bytes, which are letters in base64. */
function typeOf(data: string): string {
  if (data.startsWith('/9j/')) return 'image/jpeg';
  return data.startsWith('UklGR') ? 'image/webp' : 'image/png';
}
