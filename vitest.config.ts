import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { measurePatience, patienceVariable } from './src/testing/patience.ts';
import { findOtherMajors, otherMajors, readSpecifier } from './tests/clients/packages.ts';

/** Tests beside the source that start servers, processes or databases. */
const needServers = [
  'src/access/bootstrap.test.ts',
  'src/cli/**/*.test.ts',
  'src/config/local-servers.test.ts',
  'src/platform/{bus,cluster,counters,data-folder,outbound,sandbox,storage}/**/*.test.ts',
  'src/providers/transport.test.ts',
  'src/testing/*.test.ts',
  'src/workers/*.test.ts',
];
const full = '**/*.full.test.ts';
/** Files with long tests beside quick ones: see src/testing/full.ts. */
const withLongTests = globSync('{src,tests}/**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
  readFileSync(join(import.meta.dirname, file), 'utf8').includes("/testing/full.ts'"),
);

/** The slowest files. One that starts last delays the end, because the other workers have nothing left to run. */
const slowest = [
  'tests/lifecycle/postgres.test.ts',
  'tests/lifecycle/shared-limits.test.ts',
  'tests/lifecycle/workers.test.ts',
  'src/platform/sandbox/docker/docker.full.test.ts',
  'tests/api/ledger-kill.test.ts',
  'tests/tools/loop.property.test.ts',
  'src/cli/cli.test.ts',
  'tests/sandbox/escape.test.ts',
  'tests/lifecycle/stream-flood.full.test.ts',
  'tests/lifecycle/heap.full.test.ts',
  'tests/docs/walk.full.test.ts',
].map((file) => join(import.meta.dirname, file));

/** Runs the slowest files first, and the others in the usual order: large files first. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = slowest.indexOf(moduleId);
      return at === -1 ? slowest.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

const patience = measurePatience();
/** Tests of clients of which only one major exists, or can do it. */
const ofOneMajor = ['openai-tools', 'openrouter-agent'].map((name) => `tests/clients/${name}.test.ts`);
/** Imports of the clients from the folder with their other majors, if it exists. */
const other = findOtherMajors();
const toOtherMajors =
  'folder' in other
    ? otherMajors.map(readSpecifier).map(({ name }) => ({
        find: new RegExp(`^${name}(/.*)?$`),
        replacement: `${join(other.folder, 'node_modules', name)}$1`,
      }))
    : [];

export default defineConfig({
  test: {
    sequence: { sequencer: SlowestFirst },
    // Limits follow the speed of the machine: a test that hangs fails, a slow one does not.
    testTimeout: 240_000 * patience,
    hookTimeout: 240_000 * patience,
    expect: { poll: { timeout: 60_000 * patience } },
    maxWorkers: 5, // the tests start servers and wait for them: on two cores, two workers leave a part of them idle
    isolate: false, // otherwise each file imports everything again, which takes a third of the CPU time
    setupFiles: ['avoid-midnight.ts', 'wait-longer.ts', 'seed-properties.ts'].map((file) =>
      join(import.meta.dirname, 'tests/setup', file),
    ),
    globalSetup: join(import.meta.dirname, 'tests/setup/bundle-libraries.ts'),
    // Processes that tests start compile what they load once: the CPU time of `headgate start` falls by 40 %.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/headgate-tests'),
      [patienceVariable]: String(patience),
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'console/src/**/*.test.ts', 'tests/architecture/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...needServers, full],
        },
      },
      {
        extends: true,
        test: {
          name: 'gateway',
          include: ['tests/**/*.test.ts', ...needServers],
          exclude: [...configDefaults.exclude, 'tests/architecture/**', full],
        },
      },
      {
        extends: true,
        test: {
          name: 'full',
          include: [full, ...withLongTests],
          env: { HEADGATE_TEST_FULL: '1' },
        },
      },
      {
        extends: true,
        resolve: { alias: toOtherMajors },
        test: {
          name: 'other-majors',
          include: 'folder' in other ? ['tests/clients/*.test.ts'] : [],
          exclude: [...configDefaults.exclude, ...ofOneMajor, full],
        },
      },
    ],
  },
});
