import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { findOtherMajors, otherMajors, readSpecifier } from './packages.ts';

const found = findOtherMajors();
const { devDependencies: current } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  devDependencies: Record<string, string>;
};

it('the clients of other majors are not here', ({ skip }) => {
  if (!('skipped' in found)) return;
  process.stderr.write(`The tests of tests/clients run with one major of each client: ${found.skipped}\n`);
  skip(found.skipped);
});

it.each(otherMajors.map(readSpecifier))('$name@$version is another major than that of package.json', (other) => {
  const major = (version: string | undefined) => version?.split('.')[0];
  expect(major(current[other.name])).toMatch(/^\d+$/);
  expect(major(current[other.name])).not.toBe(major(other.version));
});
