import { readFileSync } from 'node:fs';
import { Compile } from 'typebox/schema';
import { expect } from 'vitest';
import type { OtherEvent, ResponseEvent } from '../../src/domain/events.ts';
import { pickDefinitions } from '../interface/pick-definitions.ts';

const file = new URL('../interface/responses.schema.json', import.meta.url);
const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, object> };
const names = new Map<string, string>(); // type of event → name of its shape
for (const { $ref } of ($defs['StreamEvent'] as { anyOf: { $ref: string }[] }).anyOf) {
  const name = $ref.replace('#/$defs/', '');
  const { type } = ($defs[name] as { properties: { type: { enum: string[] } } }).properties;
  names.set(type.enum[0]!, name);
}
const compiled = new Map<string, ReturnType<typeof compile>>();

function compile(name: string) {
  const shape = { $ref: `#/$defs/${name}` };
  return Compile({ $defs: pickDefinitions(shape, $defs), ...shape } as object);
}

/** @returns undefined for a type that is not in the union */
function shapeOf(type: string): ReturnType<typeof compile> | undefined {
  const name = names.get(type);
  if (name !== undefined && !compiled.has(type)) compiled.set(type, compile(name));
  return compiled.get(type);
}

/** The status of a truncated item: some kinds have no `incomplete`. */
const cutStatusOf = ({ type }: { type: string }): string =>
  ['web_search_call', 'file_search_call', 'image_generation_call'].includes(type) ? 'failed' : 'incomplete';

const terminal = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/**
 * Checks a complete stream against the rules of every stream: shapes, numbers, indexes, order, and that deltas,
 * `done` events and the last snapshot agree.
 *
 * @see docs/reference/events.md#common-fields, docs/reference/events.md#order
 */
export function checkEvents(events: ResponseEvent[]): void {
  for (const event of events) checkShape(event);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  const types = events.map(({ type }) => type);
  const first = types.findIndex((type) => type !== 'response.debug');
  expect(types.slice(first, first + 2)).toEqual(['response.created', 'response.in_progress']);
  expect(types.filter((type) => type === 'response.created' || type === 'response.in_progress')).toHaveLength(2);
  expect(types.filter((type) => terminal.has(type))).toEqual([types.at(-1)]);
  const failed = types.at(-1) === 'response.failed';
  expect(types.indexOf('error'), '`error` comes just before `response.failed`').toBe(failed ? types.length - 2 : -1);
  checkItems(events as OtherEvent[]);
}

interface CheckedResponse {
  output: Item[];
  router_metadata?: { pipeline?: { type: string }[] };
}

/** No page of the interface declares the stage of a router. */
const isRouterStage = ({ type }: { type: string }): boolean => type === 'router';

/** An event or item of an unknown kind comes from a native provider, and is passed on with new numbers. */
function checkShape(event: ResponseEvent): void {
  const shape = shapeOf(event.type);
  if (event.type !== 'response.fusion_call.panel.failed') {
    expect('error' in event, 'no event has a key `error` of its own').toBe(false);
  }
  expect(event.type).toMatch(/^(response\.|error$)/);
  const { item, response } = event as { item?: Item; response?: CheckedResponse };
  if (!shape || (item && !isKnown(item))) return;
  if (response && !response.output.every(isKnown)) {
    checkShape({
      ...event,
      response: { ...response, output: response.output.filter(isKnown) },
    } as ResponseEvent);
    return;
  }
  const pipeline = response?.router_metadata?.pipeline;
  if (pipeline?.some(isRouterStage)) {
    const metadata = { ...response!.router_metadata, pipeline: pipeline.filter((stage) => !isRouterStage(stage)) };
    checkShape({ ...event, response: { ...response, router_metadata: metadata } } as ResponseEvent);
    return;
  }
  if (hasParsedFiles(event)) return;
  const fits: boolean = shape.Check(event);
  if (!fits) {
    const [, errors] = shape.Errors(event);
    expect.fail(`${event.type}: ${JSON.stringify(errors.slice(0, 5))} in ${JSON.stringify(event).slice(0, 1000)}`);
  }
}

/** Whether it has annotations of parsed files, which no page of the interface declares: choice 384. */
const hasParsedFiles = (event: ResponseEvent): boolean => JSON.stringify(event).includes('{"type":"file","file":{');

const known = new Set(
  ($defs['OutputItem'] as { anyOf: { $ref: string }[] }).anyOf.flatMap(({ $ref }) => {
    const shape = $defs[$ref.replace('#/$defs/', '')] as { properties: { type: { enum: string[] } } };
    return shape.properties.type.enum;
  }),
);
const isKnown = (item: Item): boolean => known.has(item.type);

interface Seen {
  id: unknown;
  open: boolean;
  parts: number;
  summaries: number;
  /** Concatenated deltas, by kind and part. */
  deltas: Record<string, string>;
}

interface Item {
  type: string;
  id?: string;
  status?: string;
  [field: string]: unknown;
}

function checkItems(events: OtherEvent[]): void {
  const items: Seen[] = [];
  for (const event of events) {
    const { type } = event;
    const item = event['item'] as Item | undefined;
    if (type === 'response.output_item.added') {
      expect(event['output_index'], 'items are numbered as they are added').toBe(items.length);
      if ('status' in item!) expect(item.status).toMatch(/in_progress|searching|interpreting|generating/);
      items.push({ id: item!.id, open: true, parts: 0, summaries: 0, deltas: {} });
      continue;
    }
    if (typeof event['output_index'] !== 'number') continue;
    const seen = items[event['output_index']]!;
    expect(seen?.open, `${type} belongs to an item that is open`).toBe(true);
    if ('item_id' in event) expect(event['item_id']).toBe(seen.id);
    if (type === 'response.output_item.done') {
      expect(item!.id).toBe(seen.id);
      expect(item!.status).not.toBe('in_progress');
      checkTexts(item!, seen);
      seen.open = false;
    } else checkPart(event, seen);
  }
  const { response } = events.at(-1) as unknown as { response: { status: string; output: Item[] } };
  expect(response.output.map(({ id }) => id)).toEqual(items.map(({ id }) => id));
  const isSuspended = ({ type, status }: Item) => type === 'router:subagent' && status === 'in_progress';
  if (response.status !== 'failed') {
    expect(items.filter(({ open }, index) => open && !isSuspended(response.output[index]!))).toEqual([]);
  }
  for (const [index, item] of response.output.entries()) {
    if (items[index]!.open && !isSuspended(item)) expect(item.status).toBe(cutStatusOf(item));
    const done = events.findLast((event) => event.type.endsWith('item.done') && event['output_index'] === index);
    if (done) expect(item).toEqual(done['item']);
  }
}

/** The finished item has the texts of its deltas. */
function checkTexts(item: Item, { deltas }: Seen): void {
  const told = (name: string, index: number | '' = '') => deltas[`response.${name}#${index}`] ?? '';
  const partsOf = (field: string) => (Array.isArray(item[field]) ? (item[field] as (Item | null)[]) : []);
  if (item.type === 'function_call') expect(item['arguments']).toBe(told('function_call_arguments'));
  if (item.type === 'custom_tool_call') expect(item['input']).toBe(told('custom_tool_call_input'));
  if (item.type !== 'message' && item.type !== 'reasoning') return;
  partsOf('summary').forEach((part, index) => {
    expect(part?.['text'], 'summary').toBe(told('reasoning_summary_text', index));
  });
  partsOf('content').forEach((part, index) => {
    if (part?.type === 'refusal') expect(part['refusal'], 'refusal').toBe(told('refusal', index));
    else if (part?.type === 'output_text' || part?.type === 'reasoning_text')
      expect(part['text'], part.type).toBe(told(part.type, index));
  });
}

function checkPart(event: OtherEvent, seen: Seen): void {
  const { type } = event;
  if (type === 'response.content_part.added') expect(event['content_index']).toBe(seen.parts++);
  if (type === 'response.reasoning_summary_part.added') expect(event['summary_index']).toBe(seen.summaries++);
  const index = (event['content_index'] ?? event['summary_index'] ?? '') as string | number;
  const key = `${type.replace(/\.(delta|done)$/, '')}#${index}`;
  if (type.endsWith('.delta')) {
    if (typeof index === 'number' && !type.includes('summary')) expect(index).toBe(Math.max(seen.parts - 1, 0)); // advice has no part
    seen.deltas[key] = (seen.deltas[key] ?? '') + (event['delta'] as string);
    return;
  }
  const part = event['part'] as Item | undefined;
  if (type === 'response.content_part.done' && part?.type === 'output_text')
    expect(part['text'], type).toBe(seen.deltas[`response.output_text#${index}`] ?? '');
  const whole = event['text'] ?? event['refusal'] ?? event['arguments'] ?? event['input'] ?? event['code'];
  if (type.endsWith('.done') && typeof whole === 'string') expect(whole, type).toBe(seen.deltas[key] ?? '');
}
