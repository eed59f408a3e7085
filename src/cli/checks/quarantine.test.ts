import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from '../program.ts';

it('doctor reports quarantined entries while the file exists', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-set-aside-'));
  const file = join(dataDir, 'journal', 'set-aside.jsonl');
  const examine = async () => {
    let printed = '';
    const stdout = { write: (text: string) => (printed += text) };
    await runCli(['doctor', '--data', dataDir, '--port', '0'], { stdout, stderr: stdout, env: {}, cwd: dataDir });
    return printed;
  };
  try {
    expect(await examine()).not.toContain('ledger');
    mkdirSync(join(dataDir, 'journal'));
    writeFileSync(file, '{"id":"gen-1"}\n{"id":"gen-2"}\n');
    expect(await examine()).toContain(`2 lines of its journal are quarantined: ${file}\n`);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
