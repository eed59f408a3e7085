import type { Metadata } from './model.ts';

/** What a provider wants back with a thought or a call. */
export interface Seal {
  on: 'reasoning' | 'call';
  /** Id of the call that it belongs to. */
  callId?: string;
  metadata: Metadata;
}

const prefix = (name: string): string => `ai-sdk;${name};`;

/** Writes what only the package understands as one opaque text, bound to the package. */
export const writeSeal = (name: string, seal: Seal): string =>
  prefix(name) + Buffer.from(JSON.stringify(seal)).toString('base64url');

/** @returns undefined if another package made it, or none that is known */
export function readSeal(name: string, text: string | null | undefined): Seal | undefined {
  if (!text?.startsWith(prefix(name))) return undefined;
  try {
    return JSON.parse(Buffer.from(text.slice(prefix(name).length), 'base64url').toString('utf8')) as Seal; // as we wrote it
  } catch {
    return undefined;
  }
}
