import { hash } from 'node:crypto';
import type { Rules } from '../facets.ts';

const HASH_LENGTH = 8;
const DEFAULT_LENGTH = 64;
const starts = { any: /^/, letter: /^[A-Za-z]/, letter_or_underscore: /^[A-Za-z_]/ };
const plain = /^[A-Za-z0-9_-]+$/;

/**
 * Creates the function that returns the name of a tool for a server. A name that the server accepts stays. Any other
 * keeps a readable beginning and ends with a hash of the whole name, so that different names stay different.
 */
export function createNameFitter(rule: NonNullable<Rules['tools']>): (name: string) => string {
  const { name_start: start = 'any', name_length: length = DEFAULT_LENGTH, reserved = [] } = rule;
  const known = new Map<string, string>();
  const replace = (name: string): string => {
    const readable = name.replace(/[^A-Za-z0-9_-]+/g, '_');
    const begun = starts[start].test(readable) ? readable : `t_${readable}`;
    return `${begun.slice(0, length - HASH_LENGTH - 1)}_${hash('sha256', name).slice(0, HASH_LENGTH)}`;
  };
  return (name) => {
    if (plain.test(name) && starts[start].test(name) && name.length <= length && !reserved.includes(name)) return name;
    const fitted = known.get(name) ?? replace(name);
    known.set(name, fitted);
    return fitted;
  };
}
