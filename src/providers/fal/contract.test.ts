import { testImageWire } from '../image-contract.ts';
import { fal } from './index.ts';

const request = 'https://queue.fal.run/fal-ai/flux/requests/764cabcf-b745-4b3e-ae38-1200304cf45b';

testImageWire(fal, new URL('recordings', import.meta.url), {
  polls: {
    'submitted.whole.http': { afterMs: 500, url: `${request}/status` },
    'queued.whole.http': { afterMs: 500, url: `${request}/status` },
    'in-progress.whole.http': { afterMs: 500, url: `${request}/status` },
    'completed.whole.http': { afterMs: 0, url: request },
  },
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'unprocessable',
    'blackened.whole.http': 'content_policy',
    'cancelled.whole.http': 'upstream_failed',
    'completed-failed.whole.http': 'upstream_timeout',
    'completed-refused.whole.http': 'content_policy',
    'content-policy.http': 'content_policy',
    'locked.http': 'upstream_failed',
    'no-pictures.whole.http': 'upstream_failed',
    'no-runner.http': 'upstream_overloaded',
    'not-found.http': 'upstream_path_missing',
    'nowhere.whole.http': 'upstream_failed',
    'rate-limited.http': 'rate_limited',
    'server-error.http': 'upstream_failed',
    'timeout.http': 'upstream_timeout',
  },
});
