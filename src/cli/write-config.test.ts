import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { knownProviders } from '../config/known-providers.ts';
import { loadConfig } from '../config/load.ts';
import { type FoundServer, findLocalServers, localServers } from '../config/local-servers.ts';
import { writeConfig } from './write-config.ts';

const writable = knownProviders.flatMap((provider) => {
  const [variable] = provider.env;
  return variable !== undefined && provider.discover ? [{ ...provider, variable }] : [];
});

/** Loads what was written, with every variable set that it asks for. */
function load(text: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'headgate-init-'));
  writeFileSync(join(cwd, 'headgate.yaml'), text);
  const names = [...writable.map(({ variable }) => variable), 'HEADGATE_MASTER_KEY', 'HEADGATE_KEY'];
  const env = Object.fromEntries(names.map((name) => [name, `value-of-${name}`]));
  const { config, warnings } = loadConfig({ env: { ...env, HEADGATE_CATALOG_AUTO_DISCOVER: 'false' }, cwd });
  rmSync(cwd, { recursive: true });
  expect(warnings).toEqual([]);
  return config;
}

async function withServer<Result>(listener: RequestListener, use: (port: number) => Promise<Result>): Promise<Result> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('the file that init writes', () => {
  it('loads with every known provider and its key', () => {
    const { providers } = load(writeConfig(writable, []));
    expect(providers.map(({ id }) => id)).toEqual([...writable.map(({ id }) => id), 'simulator']);
    for (const { id, variable, wire, baseUrl } of writable) {
      const entry = { api_key: `value-of-${variable}`, wire, base_url: baseUrl };
      expect(providers.find((provider) => provider.id === id)).toMatchObject(entry);
    }
  });

  it('loads without findings, and with the model names of a local server', () => {
    expect(load(writeConfig([], [])).providers.map(({ id }) => id)).toEqual(['simulator']);
    const models = ['llama3.2:3b', 'evil\nproviders: []', '#', 'a', 'b', 'c'];
    const found: FoundServer[] = [{ ...localServers[0]!, models }];
    const text = writeConfig([], found);
    expect(text).toContain('# ollama/llama3.2:3b, ollama/evilproviders:, ollama/, ollama/a, ollama/b and 1 more');
    expect(load(text).providers.map(({ id }) => id)).toEqual(['ollama', 'simulator']);
  });

  it('loads with the settings in its comments, too', () => {
    const text = writeConfig([], []).replaceAll(/^( *)# ( *(?:- )?(?:\{|\w+:).*)$/gm, '$1$2');
    expect(text).not.toMatch(/^ *# *\w+:/m);
    const config = load(text);
    expect(config.providers.map(({ id }) => id)).toEqual(['simulator', 'openai']);
    expect(config.bootstrap.keys).toHaveLength(1);
    expect(config.storage.url).toBe('postgres://user:password@host/headgate');
  });
});

describe('looking for local servers', () => {
  it('accepts only servers that list models', async () => {
    const answers: Record<string, [number, string]> = {
      '/good/models': [200, '{"object":"list","data":[{"id":"a","object":"model"},{"id":"b","object":"model"}]}'],
      '/empty/models': [200, '{"object":"list","data":[]}'],
      '/other/models': [200, '{"data":[{"id":"a"}]}'],
      '/odd/models': [200, '{"object":"list","data":[{"id":"a","object":"model"},null]}'],
      '/page/models': [200, '<html>'],
      '/null/models': [200, 'null'],
      '/closed/models': [401, '{"data":[]}'],
    };
    const found = await withServer(
      (request, response) => {
        const [status, body] = answers[request.url ?? ''] ?? [404, ''];
        response.writeHead(status).end(body);
      },
      (port) =>
        findLocalServers(
          ['good', 'empty', 'other', 'odd', 'page', 'null', 'closed', 'gone'].map((id) => ({
            id,
            name: id,
            baseUrl: `http://127.0.0.1:${port}/${id}`,
          })),
          5000,
        ),
    );
    expect(found.map(({ id, models }) => [id, models])).toEqual([
      ['good', ['a', 'b']],
      ['empty', []],
    ]);
  });

  it('does not wait for unresponsive servers', async () => {
    const found = await withServer(
      () => {},
      (port) => findLocalServers([{ id: 'x', name: 'x', baseUrl: `http://127.0.0.1:${port}/v1` }], 20),
    );
    expect(found).toEqual([]);
  });
});
