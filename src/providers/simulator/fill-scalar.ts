import { isRules, entriesOf, numberOf, type SchemaRules } from './flat-schema.ts';

const MAX_CHARACTERS = 100_000;

const formats: Readonly<Record<string, string>> = {
  'date-time': '2025-01-01T12:00:00Z',
  date: '2025-01-01',
  time: '12:00:00Z',
  duration: 'PT1M',
  email: 'person@example.com',
  hostname: 'host.example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/1',
  'uri-reference': '/1',
  url: 'https://example.com/1',
  uuid: '00000000-0000-4000-8000-000000000001',
};

/** Creates a text that fits `format` or the length bounds. Without them, the text is the name. Lengths are code points. */
export function fillString(rules: SchemaRules, name: string, nth: number): string {
  const { format } = rules;
  if (typeof format === 'string' && Object.hasOwn(formats, format)) return formats[format]!;
  const max = numberOf(rules.maxLength, Infinity);
  const all = [...(name || 'text'), ...(nth === 0 ? '' : ` ${nth + 1}`)];
  const text = nth > 0 && max > 0 ? all.slice(-max) : all; // keeps the number, so that entries differ
  const min = Math.min(numberOf(rules.minLength, 0), MAX_CHARACTERS);
  const length = Math.max(0, Math.min(Math.max(text.length, min), max));
  return Array.from({ length }, (_, index) => text[index % text.length]).join('');
}

/** Returns a number within the bounds, the lowest if possible. A larger `nth` gives another number if there is one. */
export function fillNumber(rules: SchemaRules, isInteger: boolean, nth: number): number | undefined {
  const step = numberOf(rules.multipleOf, 0) > 0 ? numberOf(rules.multipleOf, 0) : 1;
  const { low, high } = readBounds(rules);
  const isStepped = isInteger || rules.multipleOf !== undefined;
  const first = isStepped ? Math.ceil(low / step) * step : low;
  const last = isStepped ? Math.floor(high / step) * step : high;
  const steps = [nth, nth + 1, 0, 1].map((count) => count * step);
  const candidates = [
    ...steps.map((more) => first + more),
    ...steps.map((less) => last - less),
    (nth + 1) * step,
    (low + high) / 2,
    0,
  ];
  return candidates.find((value) => isWithin(rules, value) && (!isInteger || Number.isInteger(value)));
}

function readBounds(rules: SchemaRules) {
  const minimum = numberOf(rules.minimum, -Infinity);
  const maximum = numberOf(rules.maximum, Infinity);
  const above = rules.exclusiveMinimum === true ? minimum : numberOf(rules.exclusiveMinimum, -Infinity); // true: draft 4
  const below = rules.exclusiveMaximum === true ? maximum : numberOf(rules.exclusiveMaximum, Infinity);
  return { low: Math.max(minimum, above), high: Math.min(maximum, below), above, below };
}

/** Whether a value is within the bounds of numbers, of lengths, and of required properties. */
export function isWithin(rules: SchemaRules, value: unknown): boolean {
  if (typeof value === 'number') {
    const { low, high, above, below } = readBounds(rules);
    const times = value / (numberOf(rules.multipleOf, 0) || value || 1);
    const isMultiple = Math.abs(times - Math.round(times)) < 1e-9;
    return Number.isFinite(value) && isMultiple && value >= low && value <= high && value !== above && value !== below;
  }
  if (typeof value === 'string') return isBetween([...value].length, rules.minLength, rules.maxLength);
  if (Array.isArray(value)) return isBetween(value.length, rules.minItems, rules.maxItems);
  return !isRules(value) || entriesOf(rules.required).every((name) => Object.hasOwn(value, String(name)));
}

const isBetween = (length: number, min: unknown, max: unknown): boolean =>
  length >= numberOf(min, 0) && length <= numberOf(max, Infinity);
