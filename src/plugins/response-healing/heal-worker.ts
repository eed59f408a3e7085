import { parentPort } from 'node:worker_threads';
import { healJson, type JsonRoot } from './heal-json.ts';

/** A text for the worker thread. */
export interface HealJob {
  text: string;
  root: JsonRoot | undefined;
}

/** Its result. A text that is valid already is not returned. */
export type HealResult = { isValid: true } | { isValid: false; healed: string | undefined };

/** The worker thread of the healing: repairs one text after another. */
parentPort?.on('message', ({ text, root }: HealJob) => {
  const healed = healJson(text, root);
  const result: HealResult = healed === text ? { isValid: true } : { isValid: false, healed };
  parentPort?.postMessage(result);
});
