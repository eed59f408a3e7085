import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { patient } from '../../src/testing/patience.ts';
import { cleanUp, makeFolder, startGateway } from './gateway-process.ts';

/* The compiled package, whose modules are bundled: each thread and process must find its files. */
const root = join(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, string> };
type Library = typeof import('../../src/library.ts');
let installed: string;

beforeAll(() => {
  installed = makeFolder();
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), join(installed, 'dist')]);
  for (const path of ['bin', 'package.json']) cpSync(join(root, path), join(installed, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
}, patient(600_000)); // the build uses all cores, and other tests run beside it
afterAll(cleanUp);

describe.each([{ workers: 1 }, { workers: 2 }])('with %j', ({ workers }) => {
  it('parses a file, searches stored files and runs a command', async () => {
    const config = { server: { workers }, tools: { sandbox: { driver: 'simulation' } } };
    const gateway = await startGateway({ installed, config });

    const parsed = await gateway.post({
      plugins: [{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }],
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', filename: 'a.html', file_data: `data:text/html;base64,${btoa('<p>Good news')}` },
          ],
        },
      ],
    });
    expect(await parsed.text()).toContain('Good news');

    const form = new FormData();
    form.append('file', new File(['Tea from Assam.'], 'tea.txt'));
    const headers = { authorization: `Bearer ${testKeys.key}` };
    expect((await fetch(`${gateway.url}/api/v1/files`, { method: 'POST', headers, body: form })).status).toBe(200);
    const searched = await gateway.post({
      input: `[[call router:file_search ${JSON.stringify({ queries: ['tea'] })}]]`,
      tools: [{ type: 'router:file_search' }],
    });
    expect(await searched.json()).toMatchObject({ output: [{ results: [{ filename: 'tea.txt' }] }, {}] });

    const command = JSON.stringify({ command: 'echo $((20 + 22))' });
    const ran = await gateway.post({
      input: `[[call router:bash ${command}]] [[then]] [[say done]]`,
      tools: [{ type: 'router:bash', parameters: { engine: 'router' } }],
    });
    expect(await ran.json()).toMatchObject({
      status: 'completed',
      output: expect.arrayContaining([expect.objectContaining({ type: 'router:bash', stdout: '42\n' })]),
    });
    expect(await gateway.end()).toBe(0);
    expect(gateway.running.stderr).toBe('');
  });
});

it.each(Object.entries(manifest.exports))('the entry %s exports what its source exports', async (_name, path) => {
  const load = async (file: string): Promise<string[]> => Object.keys(await import(pathToFileURL(file).href)).sort();
  const source = path.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');
  expect(await load(join(installed, path))).toEqual(await load(join(root, source)));
});

it('serves as a library', async () => {
  const { createGateway } = (await import(pathToFileURL(join(installed, 'dist/library.js')).href)) as Library;
  const gateway = await createGateway({ env: {} });
  const response = await gateway.fetch(
    new Request('http://gateway/api/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.firstKeys!.inference}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'simulator/echo', input: 'Hello' }),
    }),
  );
  expect(await response.json()).toMatchObject({ status: 'completed' });
  await gateway.close();
});
