import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';

const type = 'router:experimental__search_models';
const answering: Turn = { text: 'Found.' };

interface Found {
  models: { id: string; context_length: number | null; input_modalities: string[]; series: string }[];
  total_results: number;
  showing: number;
}

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

describe.each(modes)(`${type}, %s`, (mode) => {
  async function search(input: object, parameters: object = {}, key?: string) {
    lab.takeRequests();
    lab.script('openai-chat', { calls: [call('router_experimental__search_models', input)] }, answering);
    const options = key === undefined ? {} : { key };
    const served = await lab.respond('openai-chat', mode, { tools: [{ type, parameters }] }, options);
    expect(served.body.status).toBe('completed');
    const [item] = shownItems(served);
    const sent = lab.takeRequests()[1]!.text;
    return { item: item!, found: JSON.parse(String(item!['result'])) as Found, sent };
  }

  it('finds the models of the gateway, and the model reads them', async () => {
    const { item, found, sent } = await search({ query: 'openai CHAT' });
    expect(item).toMatchObject({ type, status: 'completed', query: 'openai CHAT' });
    expect(found).toMatchObject({ models: [{ id: 'acme/openai-chat', series: 'acme' }], total_results: 1, showing: 1 });
    expect(sent).toContain('acme/openai-chat');
    expect(sent).toContain('total_results');
  });

  it('shows as many as the request allows, and counts all', async () => {
    const { found } = await search({ series: 'ACME' }, { max_results: 2 });
    expect(found.models).toHaveLength(2);
    expect(found).toMatchObject({ total_results: wireNames.length, showing: 2 });
    expect((await search({ query: 'no such model' })).found).toEqual({ models: [], total_results: 0, showing: 0 });
  });

  it.each([
    [{ min_context_length: 2_000_000_000 }, 0],
    [{ series: 'acme', input_modalities: ['smell'] }, 0],
  ])('applies %j', async (input, total) => {
    expect((await search(input)).found.total_results).toBe(total);
  });

  it.each([[0], [21]])('rejects max_results %i', async (count) => {
    const served = await lab.respond('openai-chat', mode, { tools: [{ type, parameters: { max_results: count } }] });
    expect(served.status).toBe(400);
    expect(served.body.error?.metadata?.['issues']).toMatchObject([{ path: 'tools[0].parameters.max_results' }]);
  });

  it('leaves out models that a guardrail of the caller forbids', async () => {
    const manage = async (path: string, body: object) => {
      const response = await lab.gateway.post(path, body, { key: testKeys.managementKey });
      expect(response.status).toBeLessThan(300);
      return (await response.json()) as { data: { id: string; hash: string }; key: string };
    };
    const { data } = await manage('/guardrails', {
      name: `only-${mode}`,
      workspace_id: '00000000-0000-4000-8000-0000000000a1',
      allowed_models: ['acme/openai-chat', 'acme/gemini'],
    });
    const made = await manage('/keys', { name: `k-${mode}`, workspace_id: '00000000-0000-4000-8000-0000000000a1' });
    await manage(`/guardrails/${data.id}/assignments/keys`, { key_hashes: [made.data.hash] });
    const { found } = await search({ series: 'acme' }, {}, made.key);
    expect(found.models.map(({ id }) => id).sort()).toEqual(['acme/gemini', 'acme/openai-chat']);
  });
});
