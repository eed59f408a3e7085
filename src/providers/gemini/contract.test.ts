import type { ResponseRequest } from '../../domain/request.ts';
import { testWire } from '../contract.ts';
import { gemini } from './index.ts';

const withTools = (tools: NonNullable<ResponseRequest['tools']>): ResponseRequest => ({
  input: [{ type: 'message', role: 'user', content: 'hello' }],
  tools,
});

testWire(gemini, new URL('recordings', import.meta.url), {
  requests: {
    'custom-tool': withTools([{ type: 'custom', name: 'run_python' }]),
    'namespace-tool': withTools([
      {
        type: 'namespace',
        name: 'crm',
        description: 'Customers.',
        tools: [{ type: 'function', name: 'find_customer' }],
      },
    ]),
    grounding: withTools([{ type: 'web_search' }]),
  },
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'upstream_rejected',
    'billing.http': 'upstream_failed',
    'blocked-prompt.stream.http': 'content_policy',
    'prompt-blocked.whole.http': 'content_policy',
    'deadline.http': 'upstream_timeout',
    'error-midway.stream.http': 'upstream_overloaded',
    'errors-midway.stream.http': 'rate_limited',
    'file-not-active.http': 'upstream_rejected',
    'internal.http': 'upstream_failed',
    'list-of-errors.http': 'rate_limited',
    'location.http': 'upstream_failed',
    'malformed-call.stream.http': 'upstream_failed',
    'call-malformed.whole.http': 'upstream_failed',
    'not-found.http': 'model_unavailable',
    'overloaded.http': 'upstream_overloaded',
    'permission.http': 'upstream_key_rejected',
    'quota.http': 'rate_limited',
    'service-blocked.http': 'upstream_key_rejected',
    'too-long.http': 'context_length_exceeded',
  },
});
