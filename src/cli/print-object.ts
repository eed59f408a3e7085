import type { Terminal } from './terminal.ts';

export interface JsonOption {
  json?: boolean;
}

/** `--json` of a command that prints one object. */
export const jsonOption = ['--json', 'print the object of the API as JSON'] as const;

/** Prints an object of the API: exactly with `--json`, otherwise as a list of the fields that have a value. */
export function printObject({ stdout }: Pick<Terminal, 'stdout'>, object: object, { json }: JsonOption): void {
  if (json) {
    stdout.write(`${JSON.stringify(object, undefined, 2)}\n`);
    return;
  }
  const fields = listFields(object, '');
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, text] of fields) stdout.write(`${name.padEnd(width)}  ${text}\n`);
}

/** Lists the fields of an object, and of the objects in it: `limits.daily`. */
function listFields(object: object, prefix: string): [name: string, text: string][] {
  return Object.entries(object).flatMap(([name, value]): [string, string][] => {
    if (isEmpty(value)) return [];
    if (typeof value === 'object' && !Array.isArray(value)) return listFields(value, `${prefix}${name}.`);
    return [[`${prefix}${name}`, writeValue(value)]];
  });
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

const writeValue = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(writeValue).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};
