import { findPlaces, keepPlaces } from '../../domain/input-places.ts';
import type { ImageRequest } from '../../domain/images.ts';
import type { InputItem } from '../../domain/items.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Verdict } from '../../domain/verdict.ts';
import type { ImageRun } from './image-run.ts';
import type { Run, RunBase } from './run.ts';

/**
 * Inspects the input of a run before any other stage.
 *
 * @param added items of plugins and tools, in an input that has been inspected; absent: the whole input
 * @throws {GatewayError} if it cannot decide
 */
export type Inspector = (run: Run, added?: InputItem[]) => MaybePromise<Verdict>;

/** Inspects the prompt of an image generation. */
export type PromptInspector = (run: ImageRun) => MaybePromise<Verdict<Pick<ImageRequest, 'prompt' | 'provider'>>>;

/**
 * Calls the inspectors in order. Each sees the changes of those before it.
 *
 * @returns a promise only if an inspector returns one
 * @throws {GatewayError} of the first inspector that blocks the input
 */
export function inspectInput(run: Run, inspectors: readonly Inspector[], from = 0): MaybePromise<void> {
  for (let at = from; at < inspectors.length; at++) {
    const verdict = inspectors[at]!(run);
    if (verdict instanceof Promise) {
      return verdict.then((settled) => {
        change(run, settled);
        return inspectInput(run, inspectors, at + 1);
      });
    }
    if (verdict.type !== 'pass') change(run, verdict);
  }
}

function change(run: Run, verdict: Verdict): void {
  applyVerdict(run, verdict, ({ input, settings }) => {
    if (input) run.input.replace(input);
    if (settings) Object.assign(run.request, settings);
  });
}

/**
 * Inspects the items that plugins have put into the input.
 *
 * @param before the items that have been inspected
 * @returns all items, with the changes of the inspectors
 * @throws {GatewayError} of the first inspector that blocks them
 */
export async function inspectNew(
  run: Run,
  inspectors: readonly Inspector[],
  before: readonly InputItem[],
  now: InputItem[],
): Promise<InputItem[]> {
  findPlaces(now, before);
  const known = new Set(before);
  const added = now.filter((item) => !known.has(item));
  if (added.length === 0) return now;
  const inspected = await inspectAdded(run, inspectors, added);
  const changed = new Map(added.map((item, at) => [item, inspected[at]!]));
  const all = now.map((item) => changed.get(item) ?? item);
  keepPlaces(all, now);
  return all;
}

/**
 * Inspects items that are about to be added to the input, such as the results of tools.
 *
 * @returns the items with the changes of the inspectors
 * @throws {GatewayError} of the first inspector that blocks them
 */
export async function inspectAdded(
  run: Run,
  inspectors: readonly Inspector[],
  items: readonly InputItem[],
): Promise<InputItem[]> {
  let added = [...items];
  for (const inspector of inspectors) {
    applyVerdict(run, await inspector(run, added), ({ input }) => {
      added = input ?? added;
    });
  }
  return added;
}

/**
 * Inspects the prompt of an image generation.
 *
 * @returns a promise only if the inspector returns one
 * @throws {GatewayError} if it blocks the prompt
 */
export function inspectPrompt(run: ImageRun, inspector: PromptInspector): MaybePromise<void> {
  const verdict = inspector(run);
  const settle = (settled: Awaited<typeof verdict>) =>
    applyVerdict(run, settled, (changes) => Object.assign(run.request, changes));
  return verdict instanceof Promise ? verdict.then(settle) : settle(verdict);
}

/**
 * Applies the verdict on an input.
 *
 * @param make makes the changes
 * @throws {GatewayError} if the input is blocked, or the run is cancelled
 */
export function applyVerdict<Change>(run: RunBase, verdict: Verdict<Change>, make: (change: Change) => void): void {
  if (run.cancellation.reason) throw run.cancellation.reason;
  if (verdict.type === 'pass') return;
  if (verdict.change) make(verdict.change);
  if (verdict.type === 'replace') return;
  run.isBlocked = run.steps.length === 0;
  throw verdict.error;
}
