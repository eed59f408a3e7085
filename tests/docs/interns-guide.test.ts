import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { probeBubblewrap } from '../interns/probe-bubblewrap.ts';
import { cleanUp, compileCache, startGateway } from '../lifecycle/gateway-process.ts';

const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/guides/interns.md'), 'utf8');
const missing = ['bash', 'curl'].find((tool) => spawnSync(tool, ['--version']).error !== undefined);
const problem = missing === undefined ? await probeBubblewrap() : `There is no ${missing}.`;
const prelude = `
set -euo pipefail
headgate() {
  if [ "$2" = chat ]; then set -- "$@" --url "$URL"; fi
  "$NODE" "$ENTRY" "$@"
}
curl() { command curl --silent --show-error --fail-with-body "$@"; }
`;

afterEach(cleanUp);

describe.skipIf(problem !== undefined)('the guide of interns', () => {
  it('has commands that work', async () => {
    const { url, folder, end } = await startGateway({ env: { PATH: process.env.PATH! } });
    const commands = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!).join('');
    const script = prelude + commands.replaceAll('http://127.0.0.1:8787', url);
    const env = {
      ...compileCache,
      PATH: process.env.PATH!,
      NODE: process.execPath,
      ENTRY: join(root, 'src/cli.ts'),
      URL: url,
      HEADGATE_KEY: testKeys.key,
      HEADGATE_CONFIG: join(folder, 'headgate.json'),
      HEADGATE_DATA: join(folder, 'data'),
    };
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env });
    expect(stderr).toMatch(/There already is the intern "scout"\.\n[\s\S]*4\/4 Health check\nRunning at scout-/);
    expect(stdout).toMatch(/\nHello\n/);
    expect(stderr).toMatch(
      /Suspended the intern "scout"\.\n[\s\S]*Running at scout-[\s\S]*Deleting the intern "scout"/,
    );
    await end();
  });
});
