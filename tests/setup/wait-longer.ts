import { vi } from 'vitest';
import { patient } from '../../src/testing/patience.ts';

/** `vi.waitFor` and `vi.waitUntil` end after a second, which is too short on a busy machine. Vitest has no setting for it. */
const TIMEOUT_MS = patient(60_000);

type Options = number | { timeout?: number; interval?: number } | undefined;
const extend = (options: Options) => (typeof options === 'number' ? options : { timeout: TIMEOUT_MS, ...options });

const marker = Symbol.for('headgate.wait-longer');
const state = vi as typeof vi & { [marker]?: true };
if (!state[marker]) {
  state[marker] = true; // files of one worker share this module's `vi`
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (callback, options) => waitFor(callback, extend(options));
  vi.waitUntil = (callback, options) => waitUntil(callback, extend(options));
}
