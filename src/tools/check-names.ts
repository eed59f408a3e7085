import type { Issue } from '../domain/errors.ts';
import { show } from '../schema/report.ts';

/**
 * Finds entries of a tool with the same name, and more than one without a name. Names are compared after trimming.
 *
 * @param names of all entries, in order. Values that are not strings count as absent
 * @returns issues with paths such as `[1].parameters.name`
 */
export function checkNames(type: string, names: readonly unknown[]): Issue[] {
  const taken = new Set<string | undefined>();
  return names.flatMap((given, index) => {
    const name = typeof given === 'string' ? given.trim() : undefined;
    const isTaken = taken.has(name);
    taken.add(name);
    if (!isTaken) return [];
    const problem =
      name === undefined
        ? `is missing; one \`${type}\` at most may go without a name, and all others need one.`
        : `must be unique, got ${show(given)}.`;
    return [{ path: `[${index}].parameters.name`, message: `\`name\` ${problem}` }];
  });
}
