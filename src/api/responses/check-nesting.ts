import { fieldPath, type Report } from '../../schema/report.ts';

/** Objects and lists may lie this deep in one another; the body itself is level 1. */
const maxLevels = 100;

export type NestingVerdict = 'fine' | 'too deep' | 'not finite';

/**
 * Finds what no shape can: nesting beyond 100 levels, and numbers that JSON writes but nobody can hold (`1e999` parses
 * to Infinity). It stops at the limit, so that a body of 10,000 levels costs no stack.
 *
 * @param level of the value itself; the body is level 1
 */
export function inspectNesting(value: unknown, level = 1): NestingVerdict {
  if (typeof value === 'number') return Number.isFinite(value) ? 'fine' : 'not finite';
  if (typeof value !== 'object' || value === null) return 'fine';
  if (level > maxLevels) return 'too deep';
  let worst: NestingVerdict = 'fine';
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const finding = inspectNesting(value[index], level + 1);
      if (finding === 'too deep') return finding;
      if (finding !== 'fine') worst = finding;
    }
    return worst;
  }
  for (const key in value) {
    const finding = inspectNesting((value as Record<string, unknown>)[key], level + 1);
    if (finding === 'too deep') return finding;
    if (finding !== 'fine') worst = finding;
  }
  return worst;
}

/** Reports a body that is `too deep`, at its top-level field: a path of 100 segments would help nobody. */
export function reportDepth(body: unknown, report: Report): void {
  const fields = typeof body === 'object' && body !== null && !Array.isArray(body) ? Object.entries(body) : [];
  const field = fields.find(([, value]) => inspectNesting(value, 2) === 'too deep');
  const path = field === undefined ? '' : fieldPath('', field[0]);
  report.add(path, `is nested deeper than ${maxLevels} levels, which is the limit`);
}

/** Reports the numbers that are `not finite`, unless a shape has complained about them already. */
export function reportNumbers(value: unknown, path: string, report: Report): void {
  if (typeof value === 'number' && !Number.isFinite(value) && !report.hasPath(path)) {
    report.add(path, `must be a finite number, got ${value}`);
  }
  if (typeof value !== 'object' || value === null || report.isFull) return;
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) reportNumbers(entry, `${path}[${index}]`, report);
  } else {
    for (const [key, entry] of Object.entries(value)) reportNumbers(entry, fieldPath(path, key), report);
  }
}
