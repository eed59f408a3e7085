import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockDataFolder, recordAddress } from '../../platform/data-folder/data-folder.ts';
import { runCli } from '../program.ts';

it('doctor shows one line for the rules of a model, and bounds what it reads of a program in place of the gateway', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-learned-'));
  const rule = (model: string) => `headgate_learned_rules_total{model="${model}",provider="acme",refused="top_p"} 1\n`;
  const metrics = [
    `headgate_learned_rules_total{${'a'.repeat(500_000)}} 1\n`, // takes minutes to search for labels
    rule('\u001b]0;title\u0007'),
    rule('acme/two').replace('top_p', 'JSON schemas'),
    rule('acme/two').replace('top_p', 'max_completion_tokens'),
    rule('acme/one').repeat(1000),
  ].join('');
  const server = createServer(({ url }, response) => {
    response.end(url === '/metrics' ? metrics : JSON.stringify({ name: 'headgate', version: '0.1.0' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const unlock = lockDataFolder(dataDir);
  recordAddress(dataDir, `http://127.0.0.1:${port}`);
  try {
    let printed = '';
    const stdout = { write: (text: string) => (printed += text) };
    const options = ['--data', dataDir, '--host', '127.0.0.1', '--port', String(port)];
    await runCli(['doctor', ...options], { stdout, stderr: stdout, env: {}, cwd: dataDir });
    expect(printed.split('refuses `top_p` for acme/one;')).toHaveLength(2);
    expect(printed).toContain(
      'refuses `JSON schemas`, `max_completion_tokens` for acme/two; the gateway sends requests without that',
    );
    expect(printed).toContain(
      'dialect: {"format":{"json_schema":"object"},"fields":{"max_completion_tokens":{"name":"max_tokens"}}}',
    );
    expect(printed).toContain('for \\u001b]0;title\\u0007;');
  } finally {
    unlock();
    server.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
