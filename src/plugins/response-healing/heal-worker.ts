import { parentPort } from 'node:worker_threads';
import { healJson, type JsonRoot } from './heal-json.ts';

/** A text for the worker thread. */
export interface HealJob {
  text: string;
  root: JsonRoot | undefined;
  /** As JSON, because a thread cannot receive numbers that keep their digits. Undefined: every value of the root matches. */
  schema: string | undefined;
}

/** Its result. A text that is valid already is not returned. */
export type HealResult = ({ isValid: true } | { isValid: false; healed: string | undefined }) & { matches: boolean };

/** The worker thread of the healing: repairs and checks one text after another. */
parentPort?.on('message', async ({ text, root, schema }: HealJob) => {
  const healed = healJson(text, root);
  const matches = healed !== undefined && (await isMatch(healed, root, schema));
  const result: HealResult = healed === text ? { isValid: true, matches } : { isValid: false, healed, matches };
  parentPort?.postMessage(result);
});

/** A reference to another schema, which nothing can resolve. */
const foreignReference = /"\$ref":"(?!#)/;

async function isMatch(text: string, root: JsonRoot | undefined, schema: HealJob['schema']): Promise<boolean> {
  const value: unknown = JSON.parse(text); // with plain numbers, as in the schema
  const isRoot = typeof value === 'object' && value !== null && Array.isArray(value) === (root === 'array');
  if (root !== undefined && !isRoot) return false;
  if (!schema || foreignReference.test(schema)) return true;
  const { Compile } = await import('typebox/schema'); // takes as long as the start of the thread
  try {
    return Compile(JSON.parse(schema) as object).Check(value);
  } catch {
    return true; // the schema has an invalid expression
  }
}
