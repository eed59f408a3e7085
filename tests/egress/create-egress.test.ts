import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEgress } from '../../src/compose/create-egress.ts';
import { createSocketProxies } from '../../src/compose/create-socket-proxies.ts';
import type { WriteLog } from '../../src/platform/telemetry/log-messages.ts';
import { type EgressLab, noTraffic, startEgressLab } from './egress-lab.ts';

let lab: EgressLab;
beforeAll(async () => {
  lab = await startEgressLab();
});
afterAll(async () => await lab[Symbol.asyncDispose]());

const sandbox = (name: string) => ({ name, workspaceId: 'w', allowedDomains: [`${name}.example.org`] });
const ask = async (path: string, url: string): Promise<string> => {
  const socket = connect(path);
  socket.write(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  return await readAll(socket);
};

it('opens a proxy for each sandbox, in a folder that other users cannot enter', async () => {
  await using resources = new AsyncDisposableStack();
  const counts = { ...noTraffic };
  const logged: unknown[] = [];
  const log: WriteLog = (message, fields) => void logged.push([message, fields]);
  const openProxy = createSocketProxies({ hasOtherUser: false }, resources);
  const open = createEgress({ outbound: lab.outbound, counts, log, openProxy });
  const [a, b] = await Promise.all([open(sandbox('a')), open(sandbox('b'))]);
  expect(statSync(dirname(a.network.proxySocket!)).mode & 0o777).toBe(0o700);
  expect(Buffer.byteLength(a.network.proxySocket!)).toBeLessThan(107);
  expect(await ask(a.network.proxySocket!, 'http://a.example.org/')).toContain('200 OK');
  expect(await ask(b.network.proxySocket!, 'http://a.example.org/secret')).toContain('403 Forbidden');
  expect(counts).toMatchObject({ served: 1, refused: 1 });
  expect(logged).toEqual([
    ['egress refused', expect.objectContaining({ sandbox: 'b', workspace_id: 'w', host: 'a.example.org', port: 80 })],
  ]);
  expect(JSON.stringify(logged)).not.toContain('secret');
  await a.close();
  expect(existsSync(a.network.proxySocket!)).toBe(false);
  expect(await ask(b.network.proxySocket!, 'http://b.example.org/')).toContain('200 OK');
  await b.close();
  const folder = dirname(a.network.proxySocket!);
  await resources.disposeAsync();
  expect(existsSync(folder)).toBe(false);
});

it('gives a sandbox with secrets the certificates to trust, and logs a vault that fails', async () => {
  await using resources = new AsyncDisposableStack();
  const logged: unknown[] = [];
  const log: WriteLog = (message, fields) => void logged.push([message, fields]);
  const openProxy = createSocketProxies({ hasOtherUser: false }, resources);
  const open = createEgress({ outbound: lab.outbound, counts: { ...noTraffic }, log, openProxy });
  const err = new Error('the store is down');
  const fail = () => Promise.reject(err);
  const release = { isBound: fail, list: fail, release: fail };
  const [a, b, plain] = [
    await open({ ...sandbox('a'), release }),
    await open({ ...sandbox('b'), release }),
    await open(sandbox('c')),
  ];
  expect(a.trustBundle).toContain('BEGIN CERTIFICATE');
  expect(b.trustBundle).toBe(a.trustBundle);
  expect(plain.trustBundle).toBeUndefined();
  expect(await ask(a.network.proxySocket!, 'http://other.example.org/')).toContain('503 Service Unavailable');
  expect(logged).toEqual([['secret release failed', { sandbox: 'a', workspace_id: 'w', err }]]);
  for (const each of [a, b, plain]) await each.close();
});

it('removes what killed processes have left, and nothing else', async () => {
  await using resources = new AsyncDisposableStack();
  const create = () => {
    const openProxy = createSocketProxies({ hasOtherUser: true }, resources);
    return createEgress({ outbound: lab.outbound, counts: { ...noTraffic }, log: () => {}, openProxy });
  };
  const open = create();
  const probe = await open(sandbox('probe'));
  // Only the sandboxes of root have another user.
  expect(statSync(dirname(probe.network.proxySocket!)).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
  const base = dirname(dirname(probe.network.proxySocket!));
  await probe.close();
  const { pid: dead } = spawnSync('true');
  const left = mkdtempSync(join(base, `headgate-egress-${dead}-`));
  const alive = dirname(probe.network.proxySocket!);
  await (await create()(sandbox('again'))).close();
  expect(readdirSync(base)).not.toContain(left.slice(base.length + 1));
  expect(existsSync(alive)).toBe(true);
});
