import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { caseOf, imageCases, imageWireNames } from './images-wires.ts';
import { providerKey } from './lab.ts';
import { readRows } from './ledger-rows.ts';
import { bundleSource } from '../setup/bundle-source.ts';

const bundledSource = await bundleSource();

it('a generation in flight at a kill -9 is recorded once, as failed, and costs nothing', async () => {
  const upstream = await startUpstream();
  upstream.always({ ...json({}), start: 'silence' });
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-images-kill-'));
  const pricing = [{ billable: 'output_image', unit: 'image', cost_usd: 0.1 }];
  const config = {
    catalog: { builtin: false },
    providers: imageWireNames.map((wire) => {
      const { model, dialect, output } = caseOf(wire);
      return {
        id: wire,
        wire,
        base_url: upstream.url,
        api_key: providerKey,
        ...(dialect && { dialect }),
        models: [
          {
            model: `${wire}/one`,
            upstream_model: model,
            image: { pricing },
            ...(output && { capabilities: { output } }),
          },
        ],
      };
    }),
  };
  const script = new URL('serve-until-killed.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, dataDir, JSON.stringify(config)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: bundledSource },
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  await lines.next(); // ready
  child.stdin.write('go\n');
  const { value: url } = await lines.next();

  const asking = imageCases.map(({ wire, mode }) =>
    fetch(`${url}/api/v1/images`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: `${wire}/one`,
        prompt: 'A red fox',
        stream: mode === 'streamed',
        session_id: `${wire} ${mode}`,
      }),
    })
      .then((answer) => answer.text())
      .catch(() => 'gone'),
  );
  await expect.poll(() => upstream.requests.length).toBe(imageCases.length);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await Promise.all(asking);

  const last = await testGateway(config, dataDir);
  await last.close({ keepData: true });
  const rows = readRows(dataDir);
  expect(rows.map((row) => row['session_id']).toSorted()).toEqual(
    imageCases.map(({ wire, mode }) => `${wire} ${mode}`).toSorted(),
  );
  for (const row of rows) {
    expect(row).toMatchObject({
      api_type: 'image',
      outcome: 'failed',
      error_type: 'gateway_stopped',
      cost_nano_usd: 0,
      input_tokens: 0,
      output_tokens: 0,
    });
  }
  expect(readdirSync(join(dataDir, 'journal'))).toEqual([]);
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
});
