import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const { bin, exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  bin: Record<string, string>;
  exports: Record<string, string>;
};

it('the command of the package is the launcher', () => expect(bin).toEqual({ headgate: 'bin/headgate.js' }));

it.each(Object.entries(exports))('the entry %s of the package is built from a source', (_name, path) => {
  const source = path.replace(/^(\.\/)?dist\//, 'src/').replace(/\.js$/, '.ts');
  expect(existsSync(new URL(source, root)), source).toBe(true);
});
