import { expect, it } from 'vitest';
import { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type HealerLimits, JsonHealer } from './json-healer.ts';

function open(limits: Partial<HealerLimits> = {}) {
  const healer = new JsonHealer({ timeoutMs: 60_000, parallel: 1, queue: 1, ...limits });
  return (text: string, cancellation = new Cancellation()) =>
    healer.heal(text, { root: undefined, workspaceId: 'w', cancellation });
}

const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, text: 'a text with some letters, such as these' }));
const whole = JSON.stringify(rows); // 580 KB
const long = `Sure:\n${whole.slice(0, -1)},]\nThat is all.`;
/** Takes minutes. */
const slow = `["${'1 '.repeat(1_000_000)}`.replace('"', '');

it('heals short texts at once, and long ones in a thread', async () => {
  const heal = open();
  expect(heal('{"a":1,}')).toBe('{"a":1}');
  expect(heal('no JSON')).toBeUndefined();
  const healing = heal(long);
  expect(healing).toBeInstanceOf(Promise);
  expect(JSON.parse((await healing)!)).toEqual(rows);
  expect(await heal(whole)).toBe(whole);
  expect(await heal('no JSON '.repeat(10_000))).toBeUndefined();
});

it('ends a text that takes too long, and heals the next one', async () => {
  const limits = { timeoutMs: 300, parallel: 1, queue: 1 };
  const heal = open(limits);
  expect(await heal(slow)).toBeUndefined();
  limits.timeoutMs = 60_000;
  expect(await open(limits)(long)).toBeDefined();
});

it('leaves texts beyond its queue, and texts of cancelled runs', async () => {
  const heal = open();
  const cancellation = new Cancellation();
  const running = heal(slow, cancellation);
  const waiting = heal(long);
  expect(await heal(long)).toBeUndefined();
  cancellation.cancel(new GatewayError('client_closed', 'The client disconnected.'));
  expect(await running).toBeUndefined();
  expect(JSON.parse((await waiting)!)).toEqual(rows);
});
