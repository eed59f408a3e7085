import { testImageWire } from '../image-contract.ts';
import { openaiImages } from './index.ts';

testImageWire(openaiImages, new URL('recordings', import.meta.url), {
  asks: { two: { count: 2 } },
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'upstream_rejected',
    'blocked-midway.stream.http': 'content_policy',
    'empty.whole.http': 'upstream_failed',
    'error-midway.stream.http': 'upstream_failed',
    'moderation.http': 'content_policy',
    'no-picture.whole.http': 'upstream_failed',
    'not-found.http': 'model_unavailable',
    'rate-limited.http': 'rate_limited',
    'server-error.http': 'upstream_failed',
  },
});
