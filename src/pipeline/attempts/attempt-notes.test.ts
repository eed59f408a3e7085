import { beforeEach, describe, expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import { bareEndpoint, createProvider } from '../../providers/provider.ts';
import { simulator } from '../../providers/simulator/index.ts';
import { createTextAttempt, type TextAttempt } from '../run/attempt.ts';
import { AttemptNotes } from './attempt-notes.ts';

const provider = createProvider({
  id: 'simulator',
  name: 'Simulator',
  wire: simulator,
  apiKeys: [],
  headers: {},
  dialect: {},
  timeouts: { connectMs: 1000, firstByteMs: 1000, idleMs: 1000, totalMs: 1000 },
});
const endpoint = bareEndpoint(provider, 'simulator/echo', 'echo');

let attempt: TextAttempt;
let passed: Chunk[];
beforeEach(() => {
  attempt = createTextAttempt(endpoint, { wire: endpoint.provider.wire, isLast: true, isRetry: false });
  passed = [];
});

function note(...chunks: Chunk[]): TextAttempt {
  new AttemptNotes(attempt, { write: (batch) => void passed.push(...batch) }).write(chunks);
  return attempt;
}

const estimateAll = (...texts: string[]): number => texts.reduce((sum, text) => sum + estimateTokens([text]), 0);

describe('the notes of an attempt', () => {
  it('count text, reasoning, refusals and arguments', () => {
    note(
      { type: 'reasoning', delta: '1234' },
      { type: 'text', delta: '567' },
      { type: 'refusal', delta: 'x' },
      { type: 'tool_call', callId: 'c', name: 'f' },
      { type: 'tool_call_arguments', callId: 'c', delta: '{}' },
    );
    expect(attempt.producedTokens).toBeCloseTo(estimateAll('1234', '567', 'x', '{}'));
  });

  it('count what only a finished item contains, and no text twice', () => {
    const message = (text: string) => ({ id: 'm', type: 'message', content: [{ type: 'output_text', text }] });
    note(
      { type: 'item', key: 1, item: message('') },
      { type: 'text', key: 1, delta: 'abc' },
      { type: 'item_done', key: 1, item: message('abcdef') },
      { type: 'item_done', key: 2, item: { id: 'f', type: 'function_call', arguments: '{"a":1}' } },
      {
        type: 'item_done',
        key: 3,
        item: { id: 'r', type: 'reasoning', summary: [{ type: 'summary_text', text: 'why' }] },
      },
      { type: 'item_done', key: 4, item: { id: 'i', type: 'image_generation_call', result: 'AAAA' } },
    );
    expect(attempt.producedTokens).toBeCloseTo(
      estimateAll('abc', '{"a":1}', 'why') + estimateAll('abcdef') / 2, // three of the six letters are new
    );
  });

  it('keep the model, the finish and what was dropped', () => {
    note({ type: 'start', model: 'echo-2' }, { type: 'finish', reason: 'length', dropped: ['audio'] });
    expect(attempt).toMatchObject({
      upstreamModel: 'echo-2',
      droppedUpstreamFields: ['audio'],
      finish: { reason: 'length' },
    });
  });

  it('pass everything on as it came', () => {
    const chunks: Chunk[] = [
      { type: 'text', delta: 'a' },
      { type: 'finish', reason: 'stop' },
    ];
    note(...chunks);
    expect(passed).toEqual(chunks);
  });
});
