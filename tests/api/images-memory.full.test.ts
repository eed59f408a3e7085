import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import { patient } from '../../src/testing/patience.ts';

const MAX_BYTES = 600_000_000;
const children: ChildProcess[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function start(file: string, ...args: string[]): Promise<{ child: ChildProcess; line: () => Promise<string> }> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  let text = '';
  child.stdout!.on('data', (piece) => {
    text += String(piece);
  });
  const line = async (): Promise<string> => {
    while (!text.includes('\n')) await once(child.stdout!, 'data');
    const [first = '', ...rest] = text.split('\n');
    text = rest.join('\n');
    return first;
  };
  return { child, line };
}

/** Sends a request, and counts the bytes of the response without keeping them. */
function generate(url: string): Promise<{ error: string | undefined; bytes: number }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}/api/v1/images`,
      { method: 'POST', headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' } },
      (answer) => {
        let bytes = 0;
        let error = answer.statusCode === 200 ? undefined : `${answer.statusCode} `;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (error !== undefined) error += String(piece);
        });
        answer.on('end', () => resolve({ error, bytes }));
        answer.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end(JSON.stringify({ model: 'acme/large', prompt: 'noise' }));
  });
}

/** Returns the peak memory of the process, in bytes. */
const highWater = (child: ChildProcess): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) * 1024;

it.skipIf(process.platform !== 'linux')(
  'needs less than 600 MB for 200 concurrent generations of 4 MB, and fails none',
  { timeout: patient(400_000) },
  async () => {
    const upstream = await start('serve-images.ts');
    const [base_url = '', length] = (await upstream.line()).split(' ');
    const dataDir = mkdtempSync(join(tmpdir(), 'headgate-memory-'));
    folders.push(dataDir);
    const providers = [{ id: 'acme', wire: 'openai-images', base_url, models: [{ model: 'acme/large' }] }];
    const gateway = await start('serve-until-killed.ts', dataDir, JSON.stringify({ providers }));
    expect(await gateway.line()).toBe('ready');
    gateway.child.stdin!.write('go\n');
    const url = await gateway.line();

    const answers = await Promise.all(Array.from({ length: 200 }, () => generate(url)));

    expect(Number(length)).toBeGreaterThan(4_000_000);
    const expected = Math.ceil(Number(length) / 3) * 4;
    for (const { error, bytes } of answers) {
      expect(error).toBeUndefined();
      expect(bytes).toBeGreaterThan(expected);
    }
    expect(highWater(gateway.child)).toBeLessThan(MAX_BYTES);
  },
);
