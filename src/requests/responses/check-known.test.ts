import { describe, expect, it } from 'vitest';
import { checkKnown } from './check-known.ts';

const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
const audio = { data: 'AAAA', format: 'mp3', url: 'x' };
const user = (part: object) => ({ input: [{ role: 'user', content: [part] }] });

describe('an unknown field of an intern', () => {
  it.each<[body: object, path: string, isTranslated?: boolean]>([
    [user({ type: 'input_audio', input_audio: audio }), 'input[0].content[0].input_audio.url'],
    [user({ type: 'input_audio', input_audio: audio, native: {} }), 'input[0].content[0].input_audio.url', true],
    [{ input: [{ ...call, x: 1 }] }, 'input[0].x'],
    [{ input: [{ ...call, subagent_items: [{ ...call, x: 1 }] }] }, 'input[0].subagent_items[0].x'],
    [{ tools: [{ type: 'function', name: 'a', native: {} }] }, 'tools[0].native'],
    [{ text: { format: { type: 'text', x: 1 } } }, 'text.format.x'],
    [{ include: ['future_word', 'reasoning.encrypted_content', 'evil.example/x'] }, 'include[2]'],
  ])('of %j is named', (body, path, isTranslated = false) => {
    expect(() => checkKnown(body, isTranslated)).toThrow(
      expect.objectContaining({
        kind: 'permission_denied',
        metadata: { param: path, issues: [{ path, message: expect.stringContaining(path) }] },
      }),
    );
  });

  it.each<[body: object, isTranslated?: boolean]>([
    [{ tools: [{ type: 'function', name: 'a', parameters: { properties: { x: { future: 1 } } } }], other: 1 }],
    [{ tools: [{ type: 'function', name: 'a', native: { future: 1 } }] }, true],
    [{ input: [{ type: 'message', role: 'user', content: 'x', future: null }], metadata: { mine: 'x' } }],
    [{ input: [{ type: 'router:web_fetch', status: 'completed', arguments: '{}', future: 1 }] }],
    [
      {
        input: [
          {
            role: 'assistant',
            content: [
              { type: 'output_text', text: 'x', annotations: [{ type: 'file', file: { hash: 'h', content: [] } }] },
            ],
          },
        ],
      },
    ],
    [{ plugins: [{ id: 'mine', setting: 1 }] }],
  ])('is not one of %j', (body, isTranslated = false) => {
    expect(() => checkKnown(body, isTranslated)).not.toThrow();
  });
});
