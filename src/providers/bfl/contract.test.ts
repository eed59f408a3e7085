import { testImageWire } from '../image-contract.ts';
import { bfl } from './index.ts';

testImageWire(bfl, new URL('recordings', import.meta.url), {
  polls: {
    'submitted.whole.http': {
      afterMs: 500,
      url: 'https://api.us1.bfl.ai/v1/get_result?id=7c2f5a0e-93b4-4d1f-8f0c-1f6a3b7c9d20',
    },
    'pending.whole.http': { afterMs: 500 },
  },
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'unprocessable',
    'content-moderated.whole.http': 'content_policy',
    'failed.whole.http': 'upstream_failed',
    'no-credits.http': 'upstream_failed',
    'no-task.whole.http': 'upstream_failed',
    'not-found.http': 'upstream_path_missing',
    'rate-limited.http': 'rate_limited',
    'ready-empty.whole.http': 'upstream_failed',
    'request-moderated.whole.http': 'content_policy',
    'server-error.http': 'upstream_failed',
    'task-not-found.whole.http': 'upstream_failed',
    'unavailable.http': 'upstream_overloaded',
  },
});
