import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findCycles, findKnots, findViolations, listImports, type Rules, type Sources } from './imports.ts';

/*
 * What each folder of src/ may import. An unknown folder, an unlisted import and a cycle of modules fail. Tests, and what
 * imports vitest, are exempt. Make a row as narrow as its folder is; a wider row needs a reason.
 */
const rules: Rules = {
  everywhere: ['domain'],
  folders: {
    domain: '',
    types: '', // for users of the package
    schema: '',
    platform: '',
    providers: 'schema', // checks of responses
    // A body can be read again: the pipeline parks it. A tool defines its parameters.
    requests: 'schema pipeline:types tools',
    plugins: '',
    guardrails: '',
    tools: 'schema',
    containers: 'platform management tools', // copies files of workspaces, and fails as tools do
    metering: 'platform',
    contents: 'platform',
    alerts: 'platform metering config schema vault:types', // their settings by API have the schema of the configuration
    exports: 'platform management', // writes generations as the API does
    config: 'platform schema',
    vault: 'platform interns:types', // owns the vaults of interns
    catalog: 'metering providers:types',
    routing: 'platform:types metering catalog', // takes the port of the bus
    access: 'platform metering catalog routing',
    pipeline: 'platform:types metering routing providers tools:types',
    management: 'schema platform metering catalog routing access requests guardrails vault interns:types',
    interns: 'schema platform containers management', // homes are saved as those of containers
    exchanges: 'catalog routing providers pipeline',
    http: 'pipeline schema',
    openapi: 'schema http',
    api: 'schema platform alerts metering catalog routing access requests pipeline management vault interns http openapi',
    cli: '* !testing',
    compose: '* !cli !testing',
    gateway: '* !cli !testing',
    library: '* !cli !testing',
    workers: '* !cli !testing',
    testing: '*',
  },
  within: {
    platform: {
      bus: 'cluster:types',
      cluster: 'telemetry:types',
      counters: 'cluster:types telemetry:types',
      'data-folder': '',
      egress: 'outbound', // the check of addresses
      jobs: 'storage:types',
      mcp: 'outbound', // errors of exchanges
      objects: '',
      outbound: '',
      sandbox: 'threads',
      storage: 'cluster:types data-folder threads',
      telemetry: '',
      threads: '',
      tokenizers: '',
    },
  },
  strangers: { providers: ['kit', 'rules', 'errors'], plugins: [], guardrails: ['regex'], tools: ['container-calls'] },
  adapterUsers: ['cli', 'compose', 'testing', 'workers'],
};

const root = join(import.meta.dirname, '../..');
const sources: Sources = new Map(
  globSync('src/**/*.{ts,json}', { cwd: root }).map((path) => [path, readFileSync(join(root, path), 'utf8')]),
);

describe('the sources', () => {
  it('are found, with their imports', () => {
    expect(sources.size).toBeGreaterThan(500);
    expect(listImports(sources).length).toBeGreaterThan(2000);
  });

  it('import only what their folder may', () => {
    expect(findViolations(sources, rules)).toEqual([]);
  });

  it('have no cycle: import a type with `import type`, or pass the function in', () => {
    expect(findCycles(sources)).toEqual([]);
  });

  it('tie at most 8 files into one knot of types: move a type to the lower of the files that need it', () => {
    expect(findKnots(sources).filter((knot) => knot.length > 8)).toEqual([]);
  });
});

describe('the fence', () => {
  const small: Rules = {
    everywhere: ['domain'],
    folders: { domain: '', a: '', b: 'a', c: 'a:types', d: '* !b', platform: '', wires: '' },
    within: { platform: { one: 'two', two: 'one:types' } },
    strangers: { wires: ['kit'] },
    adapterUsers: ['d'],
  };
  const check = (files: Record<string, string>) => findViolations(new Map(Object.entries(files)), small);
  /** A module that imports an existing one. */
  const importing = (from: string, to: string, code = 'import { x } from'): string[] =>
    check({ [from]: `${code} '${'../'.repeat(from.split('/').length - 1)}${to}';`, [to]: '' });

  it.each([
    ['src/a/x.ts', 'src/domain/y.ts'],
    ['src/b/x.ts', 'src/a/y.ts'],
    ['src/d/x.ts', 'src/a/y.ts'],
    ['src/a/x.ts', 'src/a/deep/y.ts'],
    ['src/a/x.test.ts', 'src/b/y.ts'],
    ['src/b.ts', 'src/a/y.ts'],
    ['src/d/x.ts', 'src/platform/one/adapter/y.ts'],
    ['src/platform/one/x.ts', 'src/platform/one/adapter/y.ts'],
    ['src/platform/one/x.ts', 'src/platform/two/y.ts'],
    ['src/wires/one/x.ts', 'src/wires/shared.ts'],
    ['src/wires/one/x.ts', 'src/wires/kit/y.ts'],
    ['src/wires/index.ts', 'src/wires/one/y.ts'],
  ])('lets %s import %s', (from, to) => {
    expect(importing(from, to)).toEqual([]);
  });

  it.each([
    ['src/a/x.ts', 'src/b/y.ts', 'but a/ may import only domain. Move the code to a folder that may'],
    ['src/a.ts', 'src/b/y.ts', 'but a/ may import only domain.'],
    ['src/c/x.ts', 'src/a/y.ts', 'but c/ may import only domain, a:types.'],
    ['src/d/x.ts', 'src/b/y.ts', 'but d/ may import only domain, *, !b.'],
    ['src/platform/two/x.ts', 'src/platform/one/y.ts', 'platform/two/ may import only one:types of platform/.'],
    ['src/wires/one/x.ts', 'src/wires/two/y.ts', 'folders of wires/ do not import one another'],
  ])('does not let %s import %s', (from, to, says) => {
    for (const code of [
      'import { x } from',
      'import { type X } from',
      'export * from',
      'import',
      'import {\n  x,\n} from',
    ]) {
      expect(importing(from, to, code)).toEqual([expect.stringContaining(says)]);
    }
    expect(
      check({ [from]: `await import('${'../'.repeat(from.split('/').length - 1)}${to}');`, [to]: '' }),
    ).toHaveLength(1);
  });

  it('lets a folder import types where only types are listed', () => {
    for (const code of ['import type { X } from', 'export type { X } from']) {
      expect(importing('src/c/x.ts', 'src/a/y.ts', code)).toEqual([]);
      expect(importing('src/platform/two/x.ts', 'src/platform/one/y.ts', code)).toEqual([]);
    }
    expect(importing('src/a/x.ts', 'src/c/y.ts', 'import type { X } from')).toHaveLength(1);
  });

  it('rejects adapters, but not ports', () => {
    const open: Rules = { ...small, folders: { ...small.folders, a: 'platform' } };
    const at = (path: string) =>
      findViolations(
        new Map([
          ['src/a/x.ts', `import { y } from '../../${path}';`],
          [path, ''],
        ]),
        open,
      );
    expect(at('src/platform/one/adapter/y.ts')).toEqual([
      expect.stringContaining('which is an adapter. Import its port'),
    ]);
    for (const port of ['src/platform/one/y.ts', 'src/platform/y.ts', 'src/platform/one/ports/y.ts']) {
      expect(at(port)).toEqual([]);
    }
  });

  it('rejects an unlisted folder and a missing module', () => {
    expect(check({ 'src/new/x.ts': '', 'src/platform/three/x.ts': '', 'src/new.ts': '' })).toEqual([
      'src/new is not in the table of tests/architecture/import-fence.test.ts. Add a row that says what it may import, as little as possible.',
      expect.stringContaining('src/platform/three is not in the table'),
    ]);
    expect(check({ 'src/a/x.ts': "import './gone.ts';" })).toEqual([
      'src/a/x.ts imports src/a/gone.ts, which does not exist.',
    ]);
  });

  it('ignores imports in comments', () => {
    const code = "import '../b/y.ts';";
    const line = `${'/'.repeat(2)} ${code}`;
    expect(check({ 'src/a/x.ts': `/* ${code} */\n${line}\n`, 'src/b/y.ts': '' })).toEqual([]);
  });

  it('finds cycles of modules, and prints them', () => {
    const cyclesOf = (files: Record<string, string>) => findCycles(new Map(Object.entries(files)));
    const cycle = {
      'src/a/x.ts': "import { y } from './y.ts';",
      'src/a/y.ts': "export * from './z.ts';",
      'src/a/z.ts': "import './x.ts';",
    };
    expect(cyclesOf(cycle)).toEqual(['src/a/x.ts -> src/a/y.ts -> src/a/z.ts -> src/a/x.ts']);
    for (const harmless of [
      "import type { X } from './x.ts';",
      "await import('./x.ts');",
      "import './x.ts';\nimport { it } from 'vitest';",
    ]) {
      expect(cyclesOf({ ...cycle, 'src/a/z.ts': harmless })).toEqual([]);
    }
  });

  it('finds knots, which imports of types tie as well', () => {
    const files = {
      'src/a/x.ts': "import type { Y } from './y.ts';",
      'src/a/y.ts': "import { z } from './z.ts';",
      'src/a/z.ts': "import type { X } from './x.ts';\nimport { other } from './other.ts';",
      'src/a/other.ts': '',
    };
    expect(findKnots(new Map(Object.entries(files)))).toEqual([['src/a/x.ts', 'src/a/y.ts', 'src/a/z.ts']]);
    expect(findKnots(new Map(Object.entries({ ...files, 'src/a/z.ts': '' })))).toEqual([]);
  });
});
