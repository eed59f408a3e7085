import { describe, expect, it } from 'vitest';
import { readRecording } from '../../testing/replay.ts';
import { testImageWire } from '../image-contract.ts';
import { recraft } from './index.ts';

testImageWire(recraft, new URL('recordings', import.meta.url), {
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'bad-request.http': 'upstream_rejected',
    'moderation-text.http': 'content_policy',
    'moderation.http': 'content_policy',
    'no-list.whole.http': 'upstream_failed',
    'no-picture.whole.http': 'upstream_failed',
    'no-units.http': 'upstream_failed',
    'not-found.http': 'upstream_path_missing',
    'page.http': 'upstream_failed',
    'rate-limited.http': 'rate_limited',
    'server-error.http': 'upstream_failed',
    'unavailable.http': 'upstream_overloaded',
  },
});

describe('a response of Recraft', () => {
  const read = (name: string) =>
    recraft.image.readWhole(
      JSON.parse(readRecording(new URL(`recordings/${name}.whole.http`, import.meta.url)).body.toString()),
      undefined,
    );

  it('has an SVG as its markup', () => {
    expect(read('vector')).toMatchObject([{ type: 'image' }, { type: 'finish', usage: { upstreamCostNanoUsd: 8e7 } }]);
  });

  it('may contain links to images', () => {
    expect(read('links')).toMatchObject([{ type: 'image_link' }, { type: 'finish', dropped: ['revised_prompt'] }]);
  });
});
