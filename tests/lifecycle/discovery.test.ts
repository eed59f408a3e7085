import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { recording } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { compileCache } from './gateway-process.ts';

const cwd = mkdtempSync(join(tmpdir(), 'headgate-discovery-'));
let upstream: ScriptedUpstream | undefined;
let stop: (() => Promise<unknown>) | undefined;
afterEach(async () => {
  await stop?.();
  await upstream?.close();
  rmSync(cwd, { recursive: true, force: true });
});

/** Starts the command as a user does, with an environment alone. @returns its URL, key and output */
async function start(env: Record<string, string>): Promise<{ url: string; key: string; said: () => string }> {
  const cli = join(import.meta.dirname, '../../src/cli.ts');
  const child = spawn(process.execPath, [cli, 'start', '--port', '0', '--data', join(cwd, 'data')], {
    cwd,
    env: { ...compileCache, PATH: process.env['PATH'], ...env },
  });
  const over = new Promise((resolve) => child.once('exit', resolve));
  stop = () => {
    child.kill();
    return over;
  };
  let said = '';
  return new Promise((resolve, reject) => {
    const read = (piece: Buffer): void => {
      said += piece;
      const [, url] = /is up: (\S+)/.exec(said) ?? [];
      const [, key] = /inference +(\S+)/.exec(said) ?? [];
      if (url && key) resolve({ url, key, said: () => said });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', () => reject(new Error(said)));
  });
}

it('serves a provider whose key is in the environment, and never shows the key', async () => {
  upstream = await startUpstream();
  const folder = new URL('../../src/providers/openai-responses/recordings/', import.meta.url);
  upstream.always(recording(new URL('text.whole.http', folder)));
  const secret = 'sk-proj-0123456789abcdef';
  const { url, key, said } = await start({ OPENAI_API_KEY: secret, OPENAI_BASE_URL: upstream.url });
  await expect.poll(said).toContain('OPENAI_API_KEY is set: models of openai as openai/… (catalog.auto_discover)');
  expect(said()).not.toContain(secret);

  const answer = await fetch(`${url}/api/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-5-mini', input: 'Hello' }),
  });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ status: 'completed', model: 'openai/gpt-5-mini' });
  expect(upstream.requests.at(-1)).toMatchObject({
    path: '/v1/responses',
    body: { model: 'gpt-5-mini' },
    headers: { authorization: `Bearer ${secret}` },
  });
});
