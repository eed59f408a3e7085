import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testGateway, testKeys } from '../../testing/index.ts';
import { runCli } from '../program.ts';

it('doctor names valid keys that are no longer in the file, until they are disabled', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-left-keys-'));
  const gateway = await testGateway({}, dataDir);
  const run = async (...args: string[]) => {
    const printed: string[] = [];
    const write = (text: string) => printed.push(text);
    const source = ['--config', join(dataDir, 'now.json'), '--data', dataDir];
    await runCli([...args, ...source], { stdout: { write }, stderr: { write }, env: {}, cwd: dataDir });
    return printed.join('');
  };
  try {
    const keys = [{ key: testKeys.managementKey, name: 'admin', kind: 'management' }];
    writeFileSync(join(dataDir, 'now.json'), JSON.stringify({ bootstrap: { keys } }));
    const first = await run('doctor');
    expect(first).toMatch(/^warn +keys +no longer in bootstrap\.keys, so the next start or reload disables them: "/m);
    for (const [, hash] of first.matchAll(/" \(([0-9a-f]{12})\)/g)) await run('keys', 'disable', hash!);
    expect(await run('doctor')).not.toMatch(/^warn +keys /m);
  } finally {
    await gateway.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
