import { testWire } from '../contract.ts';
import { openaiResponses } from './index.ts';

testWire(openaiResponses, new URL('recordings', import.meta.url), {
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'upstream_rejected',
    'context-length.http': 'context_length_exceeded',
    'failed-rate-limit.stream.http': 'rate_limited',
    'failed.stream.http': 'upstream_failed',
    'failed.whole.http': 'upstream_failed',
    'overloaded.http': 'upstream_overloaded',
    'rate-limited.http': 'rate_limited',
  },
});
