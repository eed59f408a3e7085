import { hash } from 'node:crypto';
import { refuseBecause } from '../../kit/draft.ts';
import type { ReasoningEffort } from '../../../domain/items.ts';
import type { Condition, FieldRule, Rules } from '../facets.ts';
import type { FitNotes } from './notes.ts';

/** What the conditions of rules ask about a request. */
export interface Situation {
  readonly tools: boolean;
  readonly forced: boolean;
  readonly thinking: boolean;
  /** Whether the body turns reasoning off. Absent: the wire does not say. */
  readonly reasoning_off?: boolean;
  /** Whether the provider's own search is one of the tools. Absent: the wire has none. */
  readonly search?: boolean;
  readonly stream: boolean;
  readonly format: boolean;
  /** Whether the temperature is 0. Absent: the wire has no rule about it. */
  readonly greedy?: boolean;
  /** The effort that the body has. Undefined: none. */
  readonly effort: ReasoningEffort | undefined;
}

const flags = ['tools', 'forced', 'thinking', 'reasoning_off', 'search', 'stream', 'format', 'greedy'] as const;

/** Whether a request meets a condition. */
export function meetsCondition(condition: Condition | undefined, situation: Situation): boolean {
  if (condition === undefined) return true;
  const { efforts, not_efforts: others } = condition;
  const { effort } = situation;
  if (efforts && (effort === undefined || !efforts.includes(effort))) return false;
  if (others && effort !== undefined && others.includes(effort)) return false;
  return flags.every((flag) => condition[flag] === undefined || condition[flag] === (situation[flag] ?? false));
}

/**
 * Applies the rules of single fields to a body, or to the object in it that has them.
 *
 * @param nameOf returns the name of a field in the request of the client, for the notes
 */
export function fitFields(
  body: Record<string, unknown>,
  rules: NonNullable<Rules['fields']>,
  situation: Situation,
  notes: FitNotes,
  nameOf: (field: string) => string = (field) => field,
): void {
  for (const path in rules) {
    const dot = path.indexOf('.');
    const field = dot === -1 ? path : path.slice(dot + 1);
    const outer = dot === -1 ? body : body[path.slice(0, dot)];
    if (typeof outer !== 'object' || outer === null || !(field in outer)) continue;
    // An inner object may be the client's own, which other attempts use.
    const holder: Record<string, unknown> = dot === -1 ? body : { ...outer };
    const given = rules[path]!;
    for (const rule of Array.isArray(given) ? given : [given]) {
      if (field in holder && meetsCondition(rule.when, situation))
        fitField(holder, field, rule, notes, () => nameOf(path));
    }
    if (dot === -1) continue;
    if (Object.keys(holder).length > 0) body[path.slice(0, dot)] = holder;
    else delete body[path.slice(0, dot)];
  }
}

function fitField(
  body: Record<string, unknown>,
  field: string,
  rule: FieldRule,
  notes: FitNotes,
  nameOf: (field: string) => string,
): void {
  const value = body[field];
  const isRefused =
    rule.send === false ||
    (rule.values && !rule.values.includes(value as string | number | boolean)) ||
    rule.not_with?.some((other) => body[other] !== undefined);
  if (isRefused) {
    if (rule.instead !== undefined && rule.send !== false) {
      body[field] = rule.instead;
      notes.dropped.push(`${nameOf(field)} (${String(value)} → ${rule.instead})`);
      return;
    }
    if (rule.losable && !rule.losable.includes(value as string | number | boolean))
      throw refuseBecause(nameOf(field), `Its provider has no ${field}, and the request must not lose it.`);
    delete body[field];
    notes.dropped.push(nameOf(field));
    return;
  }
  if (rule.max_length !== undefined && typeof value === 'string' && value.length > rule.max_length) {
    body[field] = hash('sha256', value, 'hex').slice(0, rule.max_length);
    notes.adapted.add(nameOf(field));
  }
  if (rule.without && Array.isArray(value)) {
    const kept = value.filter((entry) => !rule.without!.includes(entry));
    if (kept.length === 0) delete body[field];
    else body[field] = kept;
  }
  if (typeof value === 'number') {
    const bounded = Math.min(Math.max(value, rule.min ?? value), rule.max ?? Number.POSITIVE_INFINITY);
    if (bounded !== value) {
      body[field] = bounded;
      notes.dropped.push(`${nameOf(field)} (${value} → ${bounded})`);
    }
  }
  if (rule.name !== undefined && rule.name !== field) {
    body[rule.name] ??= body[field];
    delete body[field];
  }
}

/** Adds the fields that every request of an endpoint has. A field that the request has keeps its value. */
export function addFields(body: Record<string, unknown>, fields: Readonly<Record<string, unknown>>): void {
  for (const name in fields) if (!(name in body)) body[name] = fields[name];
}
