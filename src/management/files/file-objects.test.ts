import { expect, it } from 'vitest';
import { ObjectKeyError } from '../../platform/objects/objects.ts';
import { callObjects } from './file-objects.ts';

const failWith = (error: Error) => callObjects(() => Promise.reject(error)).catch((thrown: unknown) => thrown);

it('turns a failed bucket or disk into a 503', async () => {
  for (const cause of [new TypeError('fetch failed'), Object.assign(new Error('full'), { code: 'ENOSPC' })]) {
    expect(await failWith(cause)).toMatchObject({ kind: 'unavailable', cause });
  }
});

it('leaves an impossible key alone, because a retry is no remedy', async () => {
  const fault = new ObjectKeyError('The key "" has 0 bytes.');
  expect(await failWith(fault)).toBe(fault);
});
