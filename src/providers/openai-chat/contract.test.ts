import { testWire } from '../contract.ts';
import { openaiChat } from './index.ts';

testWire(openaiChat, new URL('recordings', import.meta.url), {
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'upstream_rejected',
    'broken-off.stream.http': 'rate_limited',
    'context-length.http': 'context_length_exceeded',
    'error-event.stream.http': 'upstream_failed',
    'error-inside.whole.http': 'upstream_failed',
    'gateway-page.http': 'upstream_failed',
    'not-found.http': 'model_unavailable',
    'overloaded.http': 'upstream_overloaded',
    'quota.http': 'rate_limited',
    'rate-limited.http': 'rate_limited',
    'validation.http': 'unprocessable',
  },
});
