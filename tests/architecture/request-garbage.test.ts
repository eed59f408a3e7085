import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/*
 * V8 allocates two kinds of objects in the old generation from the start: a function that is written where it is
 * assigned to a property, and the pair of accessors of a getter in an object literal. If a request creates one, the pair
 * or the function is soon garbage, but minor collections do not look at the old generation: they keep everything that
 * it references, which is the whole run. Each streamed request then moved 14 KB to the old generation.
 */
const root = join(import.meta.dirname, '../..');
const onRequestPath = globSync(['src/{pipeline,http,access,routing,metering,requests}/**/*.ts', 'src/api/**/*.ts'], {
  cwd: root,
}).filter((file) => !file.endsWith('.test.ts'));

/** Objects that are created once for the process, or once for a call of a tool. */
const once = new Set([
  'src/access/access.ts',
  'src/http/open-requests.ts',
  'src/metering/ledger.ts',
  'src/pipeline/tools/call-context.ts',
  'src/pipeline/tools/tool-loop.ts', // for responses with MCP servers
  'src/routing/share-memory.ts',
]);

// The formatter indents the members of a class by two spaces, and those of an object in a function by more.
const accessor = /^ {4,}[gs]et \w+\(.*\).* \{$/;
const assigned = /^\s+\w[\w.[\]'!]*[.\]][\w$]* (\?\?|\|\|)?= (async )?(function\b|\(.*\)(: .+)? =>|\w+ =>)/;

/** Lists the lines of a source that create such objects. */
const findOldObjects = (file: string, text: string): string[] =>
  text.split('\n').flatMap((line, index) => {
    const what = accessor.test(line)
      ? 'an accessor in an object literal'
      : assigned.test(line)
        ? 'a function that is written where it is assigned to a property'
        : undefined;
    return what === undefined ? [] : `${file}:${index + 1} ${what}`;
  });

describe('objects of a request', () => {
  it('are not created in the old generation', () => {
    const found = onRequestPath
      .filter((file) => !once.has(file))
      .flatMap((file) => findOldObjects(file, readFileSync(join(root, file), 'utf8')));
    expect(found).toEqual([]);
  });

  it('are found in all forms', () => {
    const text = [
      '  const a = {',
      '    get b() {',
      '    c: () => 2,',
      '  a.d = () => 3;',
      '  this.e = async (x: string): Promise<void> => {',
      '  a.f.g ??= function () {',
      '  const h = () => 4;',
      '  a.h = h;',
      '  get ofClass(): number {',
    ].join('\n');
    expect(findOldObjects('a.ts', text)).toEqual([
      'a.ts:2 an accessor in an object literal',
      'a.ts:4 a function that is written where it is assigned to a property',
      'a.ts:5 a function that is written where it is assigned to a property',
      'a.ts:6 a function that is written where it is assigned to a property',
    ]);
  });
});
