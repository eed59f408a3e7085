import type { SchemaRules } from './flat-schema.ts';

const two = (number: number) => String(number).padStart(2, '0');
const day = (nth: number) => new Date(Date.UTC(2025, 0, 1 + nth)).toISOString().slice(0, 10);

const formats: Record<string, (nth: number) => string> = {
  'date-time': (nth) => `${day(nth)}T12:00:00Z`,
  date: day,
  time: (nth) => `12:${two(Math.floor(nth / 60) % 60)}:${two(nth % 60)}Z`,
  duration: (nth) => `PT${nth + 1}M`,
  email: (nth) => `person${nth + 1}@example.com`,
  'idn-email': (nth) => `person${nth + 1}@example.com`,
  hostname: (nth) => `host${nth + 1}.example.com`,
  'idn-hostname': (nth) => `host${nth + 1}.example.com`,
  ipv4: (nth) => `192.0.2.${(nth % 254) + 1}`,
  ipv6: (nth) => `2001:db8::${(nth + 1).toString(16)}`,
  uri: (nth) => `https://example.com/${nth + 1}`,
  'uri-reference': (nth) => `/${nth + 1}`,
  iri: (nth) => `https://example.com/${nth + 1}`,
  'iri-reference': (nth) => `/${nth + 1}`,
  url: (nth) => `https://example.com/${nth + 1}`,
  uuid: (nth) => `00000000-0000-4000-8000-${(nth + 1).toString(16).padStart(12, '0')}`,
  'json-pointer': (nth) => `/${nth}`,
  'relative-json-pointer': (nth) => `${nth}`,
  regex: (nth) => `a{${nth + 1}}`,
};

const MAX_CHARACTERS = 100_000;

/**
 * Creates a text that fits `format` or the length bounds, in that order. Without them, the text is the name. Lengths are
 * code points, at most 100,000. A `pattern` is ignored.
 */
export function fillString(rules: SchemaRules, name: string, nth: number): string {
  const min = Math.min(Number(rules.minLength ?? 0), MAX_CHARACTERS);
  const max = Number(rules.maxLength ?? Number.POSITIVE_INFINITY);
  if (typeof rules.format === 'string' && Object.hasOwn(formats, rules.format)) return formats[rules.format]!(nth);
  const ending = nth === 0 ? '' : ` ${nth + 1}`;
  if (max <= ending.length) return max < 1 ? '' : String(nth).padStart(min, '0').slice(-max);
  const text = [...(name || 'text')];
  const length = Math.max(min - ending.length, Math.min(text.length, max - ending.length));
  return Array.from({ length }, (_, index) => text[index % text.length]).join('') + ending;
}
