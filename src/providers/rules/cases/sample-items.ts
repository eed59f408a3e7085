import type { ResponseRequest } from '../../../domain/request.ts';

/** Items of the requests of cases. */
export const sampleItems = {
  user: { type: 'message', role: 'user', content: 'Hi' },
  said: { type: 'message', role: 'assistant', content: 'It is' },
  call: { type: 'function_call', call_id: 'a12345678', name: 'f', arguments: '{}' },
  output: { type: 'function_call_output', call_id: 'a12345678', output: 'x' },
  thought: {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    content: [{ type: 'reasoning_text', text: 'Hm.' }],
  } as ResponseRequest['input'][number],
} as const;
