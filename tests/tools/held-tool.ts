import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/* A server tool whose calls a test controls. Modules of operators run in the process of the gateway. */

/** A call in progress. */
export interface HeldCall {
  readonly text: string;
  readonly signal: AbortSignal;
  /** Ends the call. */
  finish(result: object): void;
  fail(message: string): void;
}

export interface HeldTool {
  readonly type: string;
  /** The function that the model sees. */
  readonly name: string;
  /** Path of the module. */
  readonly path: string;
  /** Returns the next call as soon as it has begun. */
  next(): Promise<HeldCall>;
  close(): void;
}

/** Writes a module with the tool `router:held_<word>`. */
export function holdTool(word: string): HeldTool {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-held-'));
  const path = join(folder, 'held.mjs');
  const hook = `headgate-held-${word}`;
  const source = `export default {
    type: 'router:held_${word}',
    description: 'Runs until the test ends it.',
    arguments: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
    execute: ({ text = '' }, _parameters, { signal }) =>
      new Promise((resolve, reject) => globalThis[Symbol.for('${hook}')]({
        text,
        signal,
        finish: (result) => resolve({ result }),
        fail: (message) => reject(Object.assign(new Error(message), { name: 'ToolError' })),
      })),
  };`;
  writeFileSync(path, source);
  const begun: HeldCall[] = [];
  const waiting: ((call: HeldCall) => void)[] = [];
  const hooks = globalThis as unknown as Record<symbol, unknown>;
  hooks[Symbol.for(hook)] = (call: HeldCall): void => {
    const taker = waiting.shift();
    if (taker) taker(call);
    else begun.push(call);
  };
  return {
    type: `router:held_${word}`,
    name: `router_held_${word}`,
    path,
    next() {
      const call = begun.shift();
      return call ? Promise.resolve(call) : new Promise((resolve) => waiting.push(resolve));
    },
    close() {
      delete hooks[Symbol.for(hook)];
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
