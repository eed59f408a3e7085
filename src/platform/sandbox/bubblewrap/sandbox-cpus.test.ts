import { expect, it } from 'vitest';
import { listSandboxCpus, readCpus } from './sandbox-cpus.ts';

it('reads the CPUs of a process', () => {
  const read = (list: string) => readCpus(`Cpus_allowed:\tff\nCpus_allowed_list:\t${list}\nMems_allowed:\t1\n`);
  expect(read('0')).toEqual([0]);
  expect(read('0-3,8,10-11')).toEqual([0, 1, 2, 3, 8, 10, 11]);
  expect(readCpus('')).toEqual([]);
});

it('gives sandboxes all CPUs but the first one of the gateway', () => {
  expect(listSandboxCpus([2, 3, 7])).toBe('3,7');
  expect(listSandboxCpus([0])).toBeUndefined();
  expect(listSandboxCpus([])).toBeUndefined();
});
