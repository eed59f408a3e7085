import type { InputItem } from '../../domain/items.ts';

/** An image that a model made earlier in the conversation. */
export interface GeneratedImage {
  /** Base64. */
  data: string;
  mediaType: string;
}

/** What stands before it where the protocol lets only the user show images. */
export const generatedImageHeading = '[Image made by the assistant]';

/** @returns undefined when the item has no image in it: the call failed, or gave a link */
export function readGeneratedImage(item: InputItem): GeneratedImage | undefined {
  const { result } = item as { result?: unknown };
  return typeof result === 'string' && result !== '' ? { data: result, mediaType: typeOf(result) } : undefined;
}

/** By the first bytes, which base64 shows as letters. */
function typeOf(data: string): string {
  if (data.startsWith('/9j/')) return 'image/jpeg';
  return data.startsWith('UklGR') ? 'image/webp' : 'image/png';
}
