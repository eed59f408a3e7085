import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, type ToolLab } from './lab.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const wire = 'openai-chat';
const tools = [{ type: 'router:datetime' }];
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;
const looking: Turn = { text: 'Let me look.', calls: [call('router_datetime')] };

async function createKey(limit: number): Promise<string> {
  const body = { name: 'limited', limit, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
  const response = await lab.gateway.post('/keys', body, { key: testKeys.managementKey });
  expect(response.status).toBe(201);
  return ((await response.json()) as { key: string }).key;
}

describe.each(modes)('a spending limit, %s', (mode) => {
  it('ends the response before the turn that does not fit, with the cost of the turns before it', async () => {
    const key = await createKey(1.1 * turnUsd);
    const session = newSession();
    lab.takeRequests();
    lab.script(wire, looking);
    const request = { tools, max_output_tokens: 10, session_id: session };
    const served = await lab.respond(wire, mode, request, { key });

    expect(lab.takeRequests()).toHaveLength(1);
    if (mode === 'buffered') {
      expect(served.status).toBe(402);
      expect(served.body.error?.message).toContain('earlier model calls');
    } else {
      expect(served.body).toMatchObject({ status: 'failed', error_type: 'payment_required' });
      expect(shownItems(served).map(({ type, status }) => [type, status])).toEqual([
        ['message', 'completed'],
        ['router:datetime', 'completed'],
      ]);
      expect(served.body.usage?.cost).toBeCloseTo(turnUsd, 9);
    }
    const [row] = await rowsOf(lab.gateway.dataDir, session);
    expect(row).toMatchObject({ outcome: 'failed', status: 402, cost_nano_usd: Math.round(turnUsd * 1e9) });
  });

  it('also covers the input that the tools have made longer', async () => {
    const first = (defaultCounts.input + 10 * 10) / 1e6; // what the first turn reserves and spends, at most
    const key = await createKey(turnUsd + first);
    lab.takeRequests();
    lab.script(wire, { text: 'word '.repeat(2000), calls: [call('router_datetime')] });
    const served = await lab.respond(wire, mode, { tools, max_output_tokens: 10 }, { key });

    expect(lab.takeRequests()).toHaveLength(1);
    const { error } = served.body;
    expect(error?.message).toContain('more tokens of input');
  });

  it('lets a response through that fits', async () => {
    const key = await createKey(10 * turnUsd);
    lab.script(wire, looking, { text: 'Late.' });
    const served = await lab.respond(wire, mode, { tools, max_output_tokens: 10 }, { key });
    expect(served.body.status).toBe('completed');
  });
});
