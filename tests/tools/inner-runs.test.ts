import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseEvent } from '../../src/domain/events.ts';
import type { Tool } from '../../src/domain/items.ts';
import type { ToolCallContext } from '../../src/tools/server-tool.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { readSent } from './sent.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-inner-'));
const path = join(folder, 'helper.mjs');
writeFileSync(
  path,
  `export default {
    type: 'router:helper',
    description: 'Runs what the test says.',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false },
    arguments: { type: 'object' },
    isNested: false,
    show: ({ name = 'nobody' }) => ({ description: 'Asks ' + name + '.' }),
    checkEntries: (entries) =>
      entries.flatMap(({ name }, index) =>
        name === 'twice' && index > 0 ? [{ path: '[' + index + '].parameters.name', message: 'repeats a name.' }] : []),
    execute: (input, parameters, context) => globalThis.helpForTest(parameters, context),
  }`,
);

type Help = (parameters: { name?: string }, context: ToolCallContext) => unknown;
const shared = globalThis as { helpForTest?: Help };

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({ tools: { modules: [path] } });
});
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
});

const tools = [{ type: 'router:helper' }];
const helping: Turn = { calls: [call('router_helper')] };
const answering: Turn = { text: 'Done.' };
const turnTokens = defaultCounts.input + defaultCounts.output;
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;

describe.each(wireNames)('a tool that sends requests on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (help: Help, request: object, ...turns: Turn[]) => {
      shared.helpForTest = help;
      lab.takeRequests();
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, ...request });
    };
    const ask = { input: [{ type: 'message', role: 'user', content: 'Inner question' }] } as const;

    it('gets a response, whose usage and cost the outer response adds', async () => {
      const seen: ResponseEvent[] = [];
      const help: Help = async (_, { respond: send, model }) => {
        const inner = await send({ ...ask, model, input: [...ask.input] }, (events) => void seen.push(...events));
        return { result: { text: inner.output.length } };
      };
      const session = newSession();
      const served = await respond(help, { session_id: session }, helping, { text: 'Inner.' }, answering);

      expect(served.body).toMatchObject({ status: 'completed', usage: { total_tokens: 3 * turnTokens } });
      expect(served.body.usage!.cost).toBeCloseTo(3 * turnUsd, 12);
      const { upstream_inference_input_cost: input, upstream_inference_output_cost: output } =
        served.body.usage!.cost_details!;
      expect(input + output).toBeCloseTo(3 * turnUsd, 12);
      expect(seen.at(-1)).toMatchObject({ type: 'response.completed' });
      const [, second] = lab.takeRequests();
      expect(second!.text).toContain('Inner question');
      const rows = await rowsOf(lab.gateway.dataDir, session);
      expect(rows).toHaveLength(1); // the inner run has an entry without a session
      expect(rows[0]).toMatchObject({ cost_nano_usd: Math.round(2 * turnUsd * 1e9) });
    });

    it('is not available in a request of its own', async () => {
      const help: Help = async (_, { respond: send, model }) => {
        const inner = await send({ ...ask, model, input: [...ask.input], tools: tools as Tool[], tool_choice: 'auto' });
        return { result: { status: inner.status } };
      };
      const served = await respond(help, {}, helping, { text: 'Inner.' }, answering);

      expect(served.body.status).toBe('completed');
      const [outer, inner] = lab.takeRequests();
      expect(readSent(wire, outer!).tools).toEqual(['router_helper']);
      expect(readSent(wire, inner!).tools).toEqual([]);
    });

    it('sees the error if the model fails', async () => {
      const help: Help = async (_, { respond: send }) => {
        await send({ model: 'acme/none', input: [...ask.input] });
        return { result: {} };
      };
      const served = await respond(help, {}, helping, answering);

      expect(served.body.status).toBe('completed');
      expect(shownItems(served)[0]).toMatchObject({ status: 'failed', error: expect.stringContaining('acme/none') });
    });

    it('shows its progress between the first and the last event of its item', async () => {
      const help: Help = async (_, { emit }) => {
        await emit([{ type: 'response.helper.progress', percent: 50, item_id: 'x', sequence_number: 0 }]);
        return { result: {} };
      };
      const served = await respond(help, {}, helping, answering);

      const [item] = shownItems(served);
      expect(served.body.status).toBe('completed');
      if (mode === 'buffered') return;
      const events = served.events as unknown as { type: string; item?: { type: string }; output_index?: number }[];
      const own = events.filter(({ type, item: shown }) => {
        return type === 'response.helper.progress' || shown?.type === 'router:helper';
      });
      expect(own.map(({ type }) => type)).toEqual([
        'response.output_item.added',
        'response.helper.progress',
        'response.output_item.done',
      ]);
      expect(own[1]).toMatchObject({ percent: 50, item_id: item!.id, output_index: own[0]!.output_index });
    });

    it('shows nothing after its end', async () => {
      let late: ToolCallContext['emit'] | undefined;
      const help: Help = async (_, { emit }) => {
        await late?.([{ type: 'response.helper.late' }]);
        late = emit;
        return { result: {} };
      };
      const served = await respond(help, {}, helping, helping, answering);

      expect(shownItems(served)).toHaveLength(3);
      expect(served.body.status).toBe('completed');
      expect(JSON.stringify(served.events)).not.toContain('response.helper.late');
    });

    it('can end the response', async () => {
      const help: Help = () => ({
        result: {},
        item: { operation: 'yours' },
        endsResponse: true,
      });
      const served = await respond(help, {}, helping);

      expect(shownItems(served)).toMatchObject([{ type: 'router:helper', status: 'completed', operation: 'yours' }]);
      expect(served.body.status).toBe('completed');
      expect(lab.takeRequests()).toHaveLength(1);
    });

    it('can have several entries', async () => {
      const names: unknown[] = [];
      const help: Help = ({ name }, { instance, memory }) => {
        names.push([name, instance, memory]);
        return { result: {} };
      };
      const several = ['Ann', 'Bo'].map((name) => ({ type: 'router:helper', parameters: { name } }));
      const both = { calls: [call('router_helper'), call('router_helper__1')] };
      const served = await respond(help, { tools: several }, both, answering);

      expect(served.body.status).toBe('completed');
      expect(names).toEqual([
        ['Ann', 0, {}],
        ['Bo', 1, {}],
      ]);
      const [first] = lab.takeRequests();
      expect(first!.text).toContain('Asks Ann.');
      expect(first!.text).toContain('Asks Bo.');
    });

    it('finds conflicts of its entries', async () => {
      const several = ['a', 'twice'].map((name) => ({ type: 'router:helper', parameters: { name } }));
      const mixed = [several[0]!, { type: 'function', name: 'own', parameters: {} }, several[1]!];
      const { status, body } = await respond(() => ({ result: {} }), { tools: mixed });

      expect(status).toBe(400);
      expect(body.error!.metadata).toMatchObject({
        issues: [{ path: 'tools[2].parameters.name', message: 'repeats a name.' }],
      });
    });
  });
});
