import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ScriptedMcpServer, startMcpServer } from '../../../tests/tools/mcp-server.ts';
import { loadConfig } from '../../config/load.ts';
import { checkMcpServers } from './mcp-servers.ts';

let server: ScriptedMcpServer;
beforeAll(async () => {
  server = await startMcpServer();
});
afterAll(() => server.close());

const check = (servers: object, probe = true) => {
  const env = { HEADGATE_MCP_SERVERS: JSON.stringify(servers), HEADGATE_MCP_CONNECT_MS: '20000' };
  return checkMcpServers(loadConfig({ env, file: null, cwd: import.meta.dirname }).config, { probe });
};

it('lists the servers, and connects only on request', async () => {
  const docs = { url: `${server.url}?key=secret`, headers: { 'x-key': 'secret' } };
  expect(await check({ docs, files: { command: 'files-server', args: ['secret'] } }, false)).toEqual([
    { status: 'ok', subject: 'mcp docs', says: server.url },
    { status: 'ok', subject: 'mcp files', says: 'files-server' },
  ]);
  expect(server.requests).toEqual([]);
  expect(await check({ docs })).toEqual([
    { status: 'ok', subject: 'mcp docs', says: `the server docs has 2 tools (${server.url})` },
  ]);
  expect(await check({})).toEqual([]);
});

it('says how to repair a server', async () => {
  server.once('initialize', ({ response }) => response.writeHead(401).end());
  const [denied] = await check({ docs: { url: server.url } });
  expect(denied).toMatchObject({ status: 'fail', fix: 'Check mcp.servers.docs.headers.' });
  const [gone] = await check({ docs: { url: 'http://127.0.0.1:9/mcp' } });
  expect(gone).toMatchObject({ status: 'fail', fix: expect.stringContaining('Check mcp.servers.docs.url.') });
  const code = `console.error('no license'); process.exit(1);`;
  const [ended] = await check({ files: { command: process.execPath, args: ['-e', code] } });
  expect(ended).toMatchObject({
    status: 'fail',
    says: 'The process of the MCP server files ended. Its last error output: no license',
    fix: expect.stringContaining('mcp.servers.files.command'),
  });
});

it('rejects a configuration that contradicts itself', () => {
  const problemsOf = (servers: object): string => {
    try {
      loadConfig({ env: { HEADGATE_MCP_SERVERS: JSON.stringify(servers) }, file: null, cwd: import.meta.dirname });
      return '';
    } catch (error) {
      return String(error);
    }
  };
  expect(problemsOf({ a: { url: 'http://x.example/mcp' } })).toBe('');
  expect(problemsOf({ a: {} })).toContain('needs `url` or `command`');
  expect(problemsOf({ a: { url: 'http://x.example', command: 'x' } })).toContain('remove one');
  expect(problemsOf({ a: { command: 'x', headers: { a: 'secret-value' } } })).toContain(
    'has an effect only with `url`',
  );
  expect(problemsOf({ a: { command: 'x', headers: { a: 'secret-value' } } })).not.toContain('secret-value');
  expect(problemsOf({ 'a b': { command: 'x' } })).toContain('not allowed');
});
