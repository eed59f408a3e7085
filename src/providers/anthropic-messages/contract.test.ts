import { testWire } from '../contract.ts';
import { anthropicMessages } from './index.ts';

testWire(anthropicMessages, new URL('recordings', import.meta.url), {
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'upstream_rejected',
    'content-filter.http': 'content_policy',
    'error-inside.whole.http': 'upstream_failed',
    'no-credit.http': 'upstream_failed',
    'not-found.http': 'model_unavailable',
    'overloaded-midway.stream.http': 'upstream_overloaded',
    'overloaded.http': 'upstream_overloaded',
    'permission.http': 'upstream_key_rejected',
    'prompt-too-long.http': 'context_length_exceeded',
    'rate-limited.http': 'rate_limited',
    'server-error.http': 'upstream_failed',
    'timeout.http': 'upstream_timeout',
    'too-large.http': 'payload_too_large',
  },
});
