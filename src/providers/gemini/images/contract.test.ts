import { testImageWire } from '../../image-contract.ts';
import { gemini } from '../index.ts';

testImageWire(gemini, new URL('recordings', import.meta.url), {
  errors: {
    'bad-ratio.http': 'upstream_rejected',
    'blocked-midway.stream.http': 'content_policy',
    'broken-picture.whole.http': 'upstream_failed',
    'error-midway.stream.http': 'upstream_overloaded',
    'image-safety.whole.http': 'content_policy',
    'no-image.whole.http': 'upstream_failed',
    'prompt-blocked.whole.http': 'content_policy',
    'quota.http': 'rate_limited',
    'unfinished.whole.http': 'upstream_failed',
  },
});
