import type { SchemaRules } from './flat-schema.ts';

/**
 * Returns a number within the bounds: the lowest allowed one, or 1 without bounds. A larger `nth` gives another number.
 */
export function fillNumber(rules: SchemaRules, isInteger: boolean, nth: number): number | undefined {
  const { low, high } = readBounds(rules);
  const step = readStep(rules, isInteger);
  return step === undefined ? fillFreely(low, high, nth) : fillSteps(low, high, step, nth);
}

interface Bound {
  value: number;
  isOpen: boolean;
}

function readBounds(rules: SchemaRules): { low: Bound; high: Bound } {
  const number = (value: unknown, otherwise: number) => (typeof value === 'number' ? value : otherwise);
  const [minimum, maximum] = [number(rules.minimum, -Infinity), number(rules.maximum, Infinity)];
  const above = rules.exclusiveMinimum === true ? minimum : number(rules.exclusiveMinimum, -Infinity); // true: draft 4
  const below = rules.exclusiveMaximum === true ? maximum : number(rules.exclusiveMaximum, Infinity);
  return {
    low: { value: Math.max(minimum, above), isOpen: Number.isFinite(above) && above >= minimum },
    high: { value: Math.min(maximum, below), isOpen: Number.isFinite(below) && below <= maximum },
  };
}

/** Returns the number that values must be a multiple of. Undefined: any value is allowed. */
function readStep(rules: SchemaRules, isInteger: boolean): number | undefined {
  const multiple = typeof rules.multipleOf === 'number' && rules.multipleOf > 0 ? rules.multipleOf : undefined;
  if (!isInteger) return multiple;
  if (multiple === undefined) return 1;
  for (let times = 1; times <= 1000; times++) if (Number.isInteger(multiple * times)) return multiple * times;
  return 1;
}

function fillSteps(low: Bound, high: Bound, step: number, nth: number): number | undefined {
  let first = Number.isFinite(low.value) ? Math.ceil(low.value / step) : Math.floor(high.value / step);
  if (!Number.isFinite(first)) return (nth + 1) * step;
  if (Number.isFinite(low.value)) {
    if (low.isOpen && first * step <= low.value) first++;
    let last = Math.floor(high.value / step);
    if (high.isOpen && last * step >= high.value) last--;
    if (last < first) return undefined;
    return (first + (nth % Math.min(last - first + 1, Number.MAX_SAFE_INTEGER))) * step;
  }
  if (high.isOpen && first * step >= high.value) first--;
  return (first - nth) * step;
}

function fillFreely(low: Bound, high: Bound, nth: number): number | undefined {
  const span = high.value - low.value;
  if (span < 0 || (span === 0 && (low.isOpen || high.isOpen))) return undefined;
  if (span === 0) return low.value;
  const stepsUp = nth + (low.isOpen ? 1 : 0);
  if (!Number.isFinite(low.value)) {
    return Number.isFinite(high.value) ? high.value - nth - (high.isOpen ? 1 : 0) : nth + 1;
  }
  // Steps of one if the range is large enough. Otherwise, up to 127 equal steps that fit.
  const step = span > 128 ? 1 : span / 128;
  return low.value + (stepsUp <= 127 || span > stepsUp ? stepsUp : stepsUp % 127) * step;
}
