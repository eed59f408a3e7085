import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { cleanUp, compileCache, startGateway } from '../lifecycle/gateway-process.ts';
import { patient } from '../../src/testing/patience.ts';

const root = join(import.meta.dirname, '../..');

/** Replaces the installed package in the shell. A rejected curl request is an error. */
const prelude = `
set -euo pipefail
node() { "$NODE" "$@"; }
headgate() { node "$ENTRY" "$@"; }
curl() { command curl --silent --show-error --fail-with-body "$@"; }
`;

/** A tool that is not installed; undefined if all are. */
const missing = ['bash', 'curl', 'jq'].find((tool) => spawnSync(tool, ['--version']).error !== undefined);

/** In reading order: the guardrails exclude requests of the earlier pages. */
const pages = [
  'README.md',
  'docs/reference/simulator.md',
  'docs/reference/presets.md',
  'docs/guides/images.md',
  'docs/guides/operating.md',
  'docs/guides/limits.md',
  'docs/guides/guardrails.md',
  'docs/guides/routing.md',
  'docs/guides/observability.md',
];

/** The commands of a page that work with a running gateway and need no provider. */
const commandsOf = (page: string): string =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .flatMap(([, text]) => text!.replace(/\\\n */g, '').split('\n'))
    .filter((line) => /^(\w+=\$\()?(curl|node|headgate) (?!record|replay|doctor)/.test(line) && !line.includes('gen-…'))
    .join('\n');

afterEach(cleanUp);

it('the commands of the pages work after a first start', { timeout: patient(300_000) }, async ({ skip }) => {
  if (missing) skip(`there is no ${missing}`);
  const { url, folder, running } = await startGateway({ config: null }); // as on a first start: no file, no bootstrap
  const keyOf = (kind: string) => new RegExp(`^  ${kind} +(\\S+)$`, 'm').exec(running.stdout)![1]!;
  const env: Record<string, string | undefined> = {
    ...compileCache,
    PATH: process.env.PATH!,
    NODE: process.execPath,
    ENTRY: join(root, 'src/cli.ts'),
    HEADGATE_DATA: join(folder, 'data'),
    HEADGATE_KEY: keyOf('inference'),
    MANAGEMENT_KEY: keyOf('management'),
  };
  const read = async <Data>(path: string) => {
    const answer = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${env.MANAGEMENT_KEY}` } });
    return ((await answer.json()) as { data: Data }).data;
  };
  const [key] = await read<{ hash: string }[]>('/keys');
  const workspace = await read<{ default_guardrail_id: string }>('/workspaces/default');
  env.DEFAULT_GUARDRAIL_ID = workspace.default_guardrail_id;
  writeFileSync(join(folder, 'request.json'), '{"model": "simulator/echo", "input": "Hello"}');

  const failures: string[] = [];
  for (const page of pages) {
    const commands = commandsOf(page)
      .replace(/http:\/\/(127\.0\.0\.1|localhost):8787/g, url)
      .replaceAll('4f7c…', key!.hash);
    expect(commands, page).not.toBe('');
    const shell = promisify(execFile)('bash', ['--norc', '-c', prelude + commands], { cwd: folder, env });
    await shell.catch(({ stdout, stderr }) => failures.push(`${page}: ${stdout}${stderr}`));
  }
  expect(failures).toEqual([]);
});
