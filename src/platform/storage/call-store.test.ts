import { expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import { callStore } from './call-store.ts';

const failWith = (error: Error) => callStore(() => Promise.reject(error)).catch((thrown: unknown) => thrown);

it('turns an unreachable store into a 503', async () => {
  const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(await failWith(cause)).toMatchObject({ kind: 'unavailable', cause });
});

it('leaves faults of the gateway alone, because a retry is no remedy', async () => {
  const faults = [
    new TypeError('x is not a function'),
    new RangeError('Invalid array length'),
    Object.assign(new Error('out of range'), { code: '22003' }),
    Object.assign(new Error('UNIQUE constraint failed'), { errcode: 2067 }),
    new GatewayError('not_found', 'No.'),
  ];
  for (const fault of faults) expect(await failWith(fault)).toBe(fault);
});
