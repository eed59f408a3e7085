import { expect } from 'vitest';
import type { OtherEvent, ResponseEvent } from '../../src/domain/events.ts';
import { type Lab, stream, type WireName } from './lab.ts';
import type { Outcome } from './outcome.ts';

/** `response.output_text.delta` → `0 output_text.delta`: the item and its event. */
export function order({ events }: Outcome): string[] {
  return (events as OtherEvent[]).map((event) => {
    const place = event['output_index'] === undefined ? '' : `${event['output_index']} `;
    return place + event.type.replace('response.', '');
  });
}

export const field = (events: ResponseEvent[], type: string, name: string): unknown[] =>
  (events as OtherEvent[]).filter((event) => event.type === `response.${type}`).map((event) => event[name]);

/** The order of a simple item between `created` and the end. */
export const around = (index: number, ...inside: string[]): string[] =>
  ['output_item.added', ...inside, 'output_item.done'].map((type) => `${index} ${type}`);
export const whole = (...items: string[][]): string[] => ['created', 'in_progress', ...items.flat(), 'completed'];
export const text = (...deltas: string[]): string[] => [
  'content_part.added',
  ...deltas.map(() => 'output_text.delta'),
  'output_text.done',
  'content_part.done',
];

/** Requests a stream while the provider responds with these frames. */
export async function streamed(lab: Lab, wire: WireName, frames: object[], body = {}): Promise<Outcome> {
  lab.upstream.always(stream(wire, frames));
  const outcome = await lab.ask({ wire, mode: 'streamed' }, { body });
  expect({ status: outcome.status, text: outcome.text }).toMatchObject({ status: 200 });
  return outcome;
}
