import type { Metadata } from './model.ts';
import { parseJson } from '../../domain/parse-json.ts';

/** The metadata that a provider requires back with a thought or a call. */
export interface Seal {
  on: 'reasoning' | 'call';
  /** Id of the call that the seal belongs to. */
  callId?: string;
  metadata: Metadata;
}

const prefix = (name: string): string => `ai-sdk;${name};`;

/** Encodes metadata that only the package understands as one opaque text. The text is bound to the package. */
export const writeSeal = (name: string, seal: Seal): string =>
  prefix(name) + Buffer.from(JSON.stringify(seal)).toString('base64url');

/** @returns undefined if another package or an unknown one created it */
export function readSeal(name: string, text: string | null | undefined): Seal | undefined {
  if (!text?.startsWith(prefix(name))) return undefined;
  try {
    return parseJson(Buffer.from(text.slice(prefix(name).length), 'base64url').toString('utf8')) as Seal;
  } catch {
    return undefined;
  }
}
