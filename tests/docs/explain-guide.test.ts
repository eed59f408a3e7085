import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { guideUrl, writeGuide } from './explain-guide.ts';

it('the routing guide shows the output of headgate explain; `npm run docs` updates it', async () => {
  const guide = readFileSync(guideUrl, 'utf8');
  expect(guide.match(/```text/g)?.length).toBeGreaterThan(5);
  expect(await writeGuide()).toBe(guide);
});
