import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({}, { 'openai-responses': { native_patches: false } });
});
afterAll(() => lab.close());

const operation = { type: 'update_file', path: 'a.ts', diff: '@@\n-one\n+two\n' };
const patching = (of: object): Turn => ({ calls: [call('router_apply_patch', { operation: of })] });
const answering: Turn = { text: 'Done.' };
const spellings = [
  { type: 'router:apply_patch', item: 'router:apply_patch', id: /^st_/ },
  { type: 'apply_patch', item: 'apply_patch_call', id: /^apc_/ },
];

describe.each(wireNames)('patches on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    beforeEach(() => void lab.takeRequests());

    it.each(spellings)('$type ends the response with the item and its diff', async ({ type, item, id }) => {
      lab.script(wire, patching(operation));
      const served = await lab.respond(wire, mode, { tools: [{ type }], tool_choice: { type: 'apply_patch' } });

      expect(served.body.status).toBe('completed');
      const shown = { type: item, status: 'completed', operation, id: expect.stringMatching(id) };
      expect(shownItems(served)).toMatchObject([{ ...shown, call_id: expect.any(String) }]);
      expect(lab.takeRequests()).toHaveLength(1);
      if (mode === 'buffered') return;
      const events = served.events as unknown as Record<string, unknown>[];
      expect(events.find(({ type: kind }) => kind === 'response.output_item.added')).toMatchObject({
        item: { operation: { ...operation, diff: '' } },
      });
      const diffs = events.filter(({ type: kind }) => String(kind).includes('operation_diff'));
      expect(diffs).toMatchObject([
        { type: 'response.apply_patch_call_operation_diff.delta', delta: operation.diff, output_index: 0 },
        { type: 'response.apply_patch_call_operation_diff.done', diff: operation.diff },
      ]);
    });

    it.each(spellings)('$type lets the model repeat an invalid patch', async ({ type }) => {
      lab.script(wire, patching({ ...operation, diff: 'two' }), patching(operation));
      const served = await lab.respond(wire, mode, { tools: [{ type }] });

      expect(shownItems(served)).toMatchObject([{ operation }]);
      const [, second] = lab.takeRequests();
      expect(second!.text).toContain('must start with');
    });

    it.each(spellings)('$type replays the patch and its result', async ({ type }) => {
      lab.script(wire, patching(operation), answering);
      const first = await lab.respond(wire, mode, { tools: [{ type }] });
      lab.takeRequests();
      const [item] = shownItems(first);
      const output = {
        type: 'apply_patch_call_output',
        call_id: item!['call_id'],
        status: 'failed',
        output: 'No line.',
      };
      const input = [{ role: 'user', content: 'Fix.' }, ...first.body.output, output];
      const { status } = await lab.respond(wire, mode, { tools: [{ type }], input });

      expect(status).toBe(200);
      const [sent] = lab.takeRequests();
      expect(sent!.text).toContain('router_apply_patch');
      expect(sent!.text).toContain('No line.');
      expect(sent!.text).not.toContain('apply_patch_call');
    });
  });
});

it('the provider gets the hosted tool, and patches as its items', async () => {
  const native = await openToolLab();
  native.script('openai-responses', answering);
  const patch = {
    type: 'router:apply_patch',
    id: 'st_1',
    call_id: 'c',
    status: 'completed',
    operation,
    arguments: '{}',
  };
  const output = { type: 'apply_patch_call_output', call_id: 'c', status: 'completed' };
  const input = [{ role: 'user', content: 'Fix.' }, patch, output];
  const { status } = await native.respond('openai-responses', 'buffered', { tools: [{ type: 'apply_patch' }], input });

  expect(status).toBe(200);
  const [sent] = native.takeRequests();
  const body = sent!.body as { tools: object[]; input: object[] };
  expect(body.tools).toEqual([{ type: 'apply_patch' }]);
  expect(body.input.slice(1)).toEqual([
    { type: 'apply_patch_call', call_id: 'c', status: 'completed', operation },
    output,
  ]);
  await native.close();
});
