import { testImageWire } from '../../image-contract.ts';
import { openaiChat } from '../index.ts';

testImageWire(openaiChat, new URL('recordings', import.meta.url), {
  asks: { 'words-too': { count: 2 } },
  errors: {
    'broken-picture.whole.http': 'upstream_failed',
    'choice-error.whole.http': 'rate_limited',
    'error-midway.stream.http': 'upstream_failed',
    'filtered.whole.http': 'content_policy',
    'only-words.whole.http': 'upstream_failed',
    'rate-limited.http': 'rate_limited',
    'refusal.whole.http': 'content_policy',
  },
});
