import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTextSigner } from '../../access/sign-text.ts';
import type { Intern } from '../../domain/intern.ts';
import { hashHost } from './host-proof.ts';
import { writeOwnerAddress } from './owner-address.ts';
import { createPresence } from './show-presence.ts';
import { writeIntern } from './write-intern.ts';

const sign = createTextSigner(Buffer.from('the master key of all hosts here'));
const [here, elsewhere] = ['here', 'elsewhere'].map((name) => ({ id: hashHost(name, '/data'), sign }));

describe('a running intern', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-presence-'));
  const open = join(folder, 'open.sock');
  const left = join(folder, 'left.sock');
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => {}).destroy();
  });
  beforeAll(async () => {
    server.listen(open);
    writeFileSync(left, ''); // what a killed process leaves behind
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const show = async (runtimeAddress: string | null, live?: { isReady: boolean }, status = 'running') => {
    const presence = createPresence({
      host: here!,
      findLive: () => (live ? ({ running: live } as never) : undefined), // only `isReady` is read
    });
    const intern = { status, runtimeAddress, step: null, createdAtMs: 1, updatedAtMs: 1 } as unknown as Intern; // the fields that are read
    const shown = await presence([intern, intern]);
    return shown.map(writeIntern).map((each) => [each.status, each.progress?.stepLabel]);
  };
  const twice = (status: string, label?: string) => [
    [status, label],
    [status, label],
  ];

  it.each([
    ['runs in this process', () => 'any', { isReady: true }],
    ['runs in another process of this host', () => writeOwnerAddress(here!, open, undefined), undefined],
    ['runs on another host', () => writeOwnerAddress(elsewhere!, left, undefined), undefined],
  ])('that %s is shown as running', async (_, address, live) => {
    expect(await show(address(), live)).toEqual(twice('running'));
  });

  it.each([
    ['has no runtime', () => null, undefined],
    ['has an agent that is being started again', () => 'any', { isReady: false }],
    ['was in a process that was killed', () => writeOwnerAddress(here!, left, undefined), undefined],
    ['was in a process that has left nothing', () => writeOwnerAddress(here!, join(folder, 'x'), undefined), undefined],
  ])('that %s is shown as provisioning', async (_, address, live) => {
    expect(await show(address(), live)).toEqual(twice('provisioning', 'Start runtime'));
  });

  it('is looked for once in a list, and one of another status is not', async () => {
    connections = 0;
    await show(writeOwnerAddress(here!, open, undefined));
    expect(await show(null, undefined, 'stopped')).toEqual(twice('stopped'));
    await expect.poll(() => connections).toBe(1);
  });
});
