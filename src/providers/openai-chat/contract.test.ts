import type { ResponseRequest } from '../../domain/request.ts';
import { testWire } from '../contract.ts';
import { openaiChat } from './index.ts';

const withTools = (tools: ResponseRequest['tools']): ResponseRequest => ({
  input: [{ type: 'message', role: 'user', content: 'hello' }],
  tools,
});

testWire(openaiChat, new URL('recordings', import.meta.url), {
  requests: {
    'custom-tool': withTools([{ type: 'custom', name: 'run_python' }]),
    'namespace-tool': withTools([
      {
        type: 'namespace',
        name: 'crm',
        description: 'Customers.',
        tools: [
          { type: 'function', name: 'find_customer', parameters: null },
          { type: 'custom', name: 'run_query' },
        ],
      },
    ]),
  },
  errors: {
    'bad-key.http': 'upstream_failed',
    'bad-request.http': 'upstream_rejected',
    'broken-off.stream.http': 'rate_limited',
    'context-length.http': 'context_length_exceeded',
    'error-event.stream.http': 'upstream_failed',
    'error-inside.whole.http': 'upstream_failed',
    'gateway-page.http': 'upstream_failed',
    'not-found.http': 'upstream_failed',
    'overloaded.http': 'upstream_overloaded',
    'quota.http': 'rate_limited',
    'rate-limited.http': 'rate_limited',
    'validation.http': 'unprocessable',
  },
});
