import { expect, it } from 'vitest';
import { createTextSigner } from '../../access/sign-text.ts';
import { openTranscript, signTranscript } from './sign-transcript.ts';

const sign = createTextSigner(Buffer.from('key'));
const owner = { workspaceId: 'w', callId: 'call_1' };
const items = [
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hm.', annotations: [] }] },
  { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
];
const signed = signTranscript(sign, owner, items);

it('opens a transcript as it was, also if fields have another order or are null', () => {
  expect(openTranscript(sign, owner, signed)).toEqual(items);
  const reordered = signed.map((item) => Object.fromEntries([...Object.entries(item), ['id', null]].toReversed()));
  expect(openTranscript(sign, owner, reordered as typeof signed)).toHaveLength(2);
  expect(openTranscript(sign, owner, JSON.parse(JSON.stringify(signed)))).toEqual(items);
});

it.each<[string, typeof signed]>([
  ['an edited text', JSON.parse(JSON.stringify(signed).replace('Hm.', 'Hmm.'))],
  ['edited arguments', JSON.parse(JSON.stringify(signed).replace('"{}"', '"[]"'))],
  ['a removed item', signed.slice(1)],
  ['an added item', [...items, items[1]!, signed[2]!]],
  ['another order', [items[1]!, items[0]!, signed[2]!]],
  ['no signature', items],
  ['a short signature', [...items, { type: 'router:signature', signature: 'ab' } as { type: string }]],
  ['nothing', []],
])('refuses %s', (_, transcript) => {
  expect(openTranscript(sign, owner, transcript)).toBeUndefined();
});

it('belongs to one workspace, one call and one key', () => {
  expect(openTranscript(sign, { ...owner, workspaceId: 'v' }, signed)).toBeUndefined();
  expect(openTranscript(sign, { ...owner, callId: 'call_2' }, signed)).toBeUndefined();
  expect(openTranscript(createTextSigner(Buffer.from('other')), owner, signed)).toBeUndefined();
});
