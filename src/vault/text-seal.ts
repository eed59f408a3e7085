import { deriveKey, SealError, seal, unseal } from './seal.ts';

/** Encrypts texts for one purpose. A text opens only together with the place for which it was sealed. */
export interface TextSeal {
  seal(place: string, text: string): string;
  /** @returns undefined if the text was changed, belongs to another place, or was sealed with another master key */
  open(place: string, sealed: string): string | undefined;
}

/** Creates the seal. The previous master key still opens what it has sealed. */
export function createTextSeal(
  { current, previous }: { current: Buffer; previous: Buffer | undefined },
  purpose: string,
): TextSeal {
  const key = deriveKey(current, purpose);
  const keys = previous ? [key, deriveKey(previous, purpose)] : [key];
  return {
    seal: (place, text) => seal(key, Buffer.from(text, 'utf8'), [purpose, place]),
    open(place, sealed) {
      for (const each of keys) {
        try {
          return unseal(each, sealed, [purpose, place]).toString('utf8');
        } catch (error) {
          if (!(error instanceof SealError)) throw error;
        }
      }
      return undefined;
    },
  };
}
