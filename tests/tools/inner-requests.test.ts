import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import { newSession, readRows, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { analysis } from './fusion-script.ts';
import { call, modes, openToolLab, shownItems, type ToolLab } from './lab.ts';

/* Rules for the requests that advisors, subagents and fusion send: docs/reference/tools.md#requests-of-tools. */

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const wire = 'openai-chat';
const own = `acme/${wire}`;
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

interface Asker {
  type: string;
  call: Turn;
  /** The parameters with which it uses a model. */
  parameters(model: string, more?: object): object;
}

const askers: Asker[] = [
  {
    type: 'router:advisor',
    call: { calls: [call('router_advisor', { prompt: 'Inner question' })] },
    parameters: (model, more) => ({ model, ...more }),
  },
  {
    type: 'router:subagent',
    call: { calls: [call('router_subagent', { task_name: 'ask', task_description: 'Inner question' })] },
    parameters: (model, more) => ({ model, ...more }),
  },
  {
    type: 'router:fusion',
    call: { calls: [call('router_fusion', { prompt: 'Inner question' })] },
    parameters: (model, more) => ({ analysis_models: [model], model, tools: [], ...more }),
  },
];

describe.each(askers)('a request of $type', ({ type, call: asking, parameters }) => {
  describe.each(modes)('%s', (mode) => {
    /** Serves the outer model two turns. */
    const respond = (given: object, more: object = {}, key: string = testKeys.key) => {
      const mark = newSession();
      lab.answer(({ text }) => {
        if (!text.includes(mark)) return { text: text.includes('You compare') ? JSON.stringify(analysis) : 'Inner.' };
        return text.includes('Inner question') ? { text: 'Done.' } : asking;
      });
      const tools = [{ type, parameters: given }];
      return lab.respond(wire, mode, { tools, input: mark, session_id: mark, ...more }, { key });
    };
    const innerAt = (index: 0 | 1, from: number) =>
      lab.upstreams[index].requests
        .slice(from)
        .filter(({ text }) => text.includes('Inner question') && !text.includes('session-'));

    it('has all provider preferences if it uses the model that called the tool', async () => {
      const before = [lab.upstreams[0].requests.length, lab.upstreams[1].requests.length] as const;
      const provider = { order: [`${wire}-1`], allow_fallbacks: false };
      const served = await respond(parameters(own), { provider });
      expect(served.body.status).toBe('completed');
      expect(innerAt(0, before[0])).toHaveLength(0);
      expect(innerAt(1, before[1]).length).toBeGreaterThan(0);
    });

    it('has the restrictions for another model, and not the order', async () => {
      const before = [lab.upstreams[0].requests.length, lab.upstreams[1].requests.length] as const;
      const provider = { order: [`${wire}-0`], allow_fallbacks: false, ignore: ['gemini-0'] };
      const served = await respond(parameters('acme/gemini'), { provider });
      expect(served.body.status).toBe('completed');
      expect(shownItems(served)[0]).toMatchObject({ type, status: 'completed' });
      expect(shownItems(served)[0]).not.toHaveProperty('error');
      expect(innerAt(0, before[0])).toHaveLength(0);
      expect(innerAt(1, before[1]).length).toBeGreaterThan(0);
    });

    it('fails its call if it exceeds a budget, and the response goes on', async () => {
      const body = { name: 'limited', limit: 20 * turnUsd, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
      const created = await lab.gateway.post('/keys', body, { key: testKeys.managementKey });
      const { key } = (await created.json()) as { key: string };
      const mark = newSession();
      const tooMuch = parameters(own, { max_completion_tokens: 100_000 });
      const served = await respond(tooMuch, { max_output_tokens: 50, session_id: mark }, key);

      expect(served.body.status).toBe('completed');
      const [item, message] = shownItems(served);
      expect(item).toMatchObject({ type, error: expect.stringMatching(/limit|budget|credit|models/i) });
      expect(message).toMatchObject({ type: 'message' });
      expect(served.body.usage!.cost).toBeCloseTo(2 * turnUsd, 9);
      const [row] = await rowsOf(lab.gateway.dataDir, mark);
      expect(row).toMatchObject({ outcome: 'completed', cost_nano_usd: Math.round(2 * turnUsd * 1e9) });
      const inner = readRows(lab.gateway.dataDir).filter((each) => each['parent_id'] === row!.id);
      expect(inner.reduce((sum, each) => sum + each.cost_nano_usd, 0)).toBe(0);
    });

    it('ends the response before its next turn if it has spent the rest of a budget', async () => {
      const limit = 2.2 * turnUsd;
      const body = { name: 'short', limit, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
      const created = await lab.gateway.post('/keys', body, { key: testKeys.managementKey });
      const { key } = (await created.json()) as { key: string };
      const mark = newSession();
      const served = await respond(
        parameters(own, { max_completion_tokens: 10 }),
        { max_output_tokens: 10, session_id: mark },
        key,
      );
      const [row] = await rowsOf(lab.gateway.dataDir, mark);
      expect(row).toMatchObject({ outcome: 'failed', status: 402 });
      if (mode === 'buffered') expect(served.status).toBe(402);
      else expect(served.body).toMatchObject({ status: 'failed', error_type: 'payment_required' });
      const rows = readRows(lab.gateway.dataDir);
      const inner = rows.filter((each) => each['parent_id'] === row!.id);
      const requests = type === 'router:fusion' ? 2 : 1;
      expect(inner.map(({ outcome }) => outcome)).toEqual(Array.from({ length: requests }, () => 'completed'));
      for (const each of [row!, ...inner]) expect(each.cost_nano_usd).toBe(Math.round(turnUsd * 1e9));
    });

    it('cannot have MCP servers, whose calls the caller approves', async () => {
      if (type === 'router:advisor') return; // it has no tools
      const given = parameters(own, { tools: [{ type: 'mcp', parameters: {} }] });
      const { status, body } = await respond(given);
      expect(status).toBe(400);
      expect(body.error!.metadata).toMatchObject({ issues: [{ path: 'tools[0].parameters.tools[0].type' }] });
    });
  });
});
