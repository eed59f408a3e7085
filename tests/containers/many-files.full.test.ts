import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ContainerEntry } from '../../src/platform/storage/ports/containers.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { workspaceId } from './open-process.ts';
import { patient } from '../../src/testing/patience.ts';

const FILES = 100_000;
const limits = { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

it(
  'lists 100,000 files of a container exactly once, while others are saved and deleted',
  { timeout: patient(300_000) },
  async () => {
    const { containers } = gateway.gateway.storage;
    const { key } = (await containers.useContainer(workspaceId, 'many', randomUUID(), Date.now()))!;
    const token = randomUUID();
    const times = { startedAtMs: Date.now(), untilMs: Date.now() + 600_000 };
    await containers.acquireLease({
      token,
      containerKey: key,
      compute: 'bash',
      holder: 'h',
      policy: '',
      maxHeld: 1,
      ...times,
    });
    const save = (paths: readonly string[], deleted: readonly string[] = []) => {
      const entry = { kind: 'file', bytes: 0, mode: 0o644, modifiedAtMs: 1, target: null, content: null } as const;
      const entries = paths.map((path): ContainerEntry => ({ ...entry, path }));
      return containers.saveEntries({ containerKey: key, token, entries, deleted, atMs: Date.now(), limits });
    };
    const stable = Array.from({ length: FILES }, (_, index) => `dir-${index % 97}/stable-${index}`);
    for (let at = 0; at < FILES; at += 1000) await save(stable.slice(at, at + 1000));

    const found: string[] = [];
    let pages = 0;
    for (let after: string | undefined = ''; after !== undefined; pages++) {
      const response = await gateway.get(`/containers/many/files?limit=1000${after === '' ? '' : `&after=${after}`}`);
      expect(response.status).toBe(200);
      const page = (await response.json()) as { data: { path: string }[]; has_more: boolean; last_id: string };
      for (const { path } of page.data) found.push(path);
      after = page.has_more ? page.last_id : undefined;
      const moving = Array.from({ length: 20 }, (_, index) => `dir-${(pages * 7 + index) % 97}/moving-${pages % 5}`);
      await (pages % 2 === 0 ? save(moving) : save([], moving));
    }
    expect(pages).toBeGreaterThanOrEqual(100);
    expect(new Set(found).size).toBe(found.length);
    expect(found.filter((path) => path.includes('/stable-')).toSorted()).toEqual(stable.toSorted());
  },
);
