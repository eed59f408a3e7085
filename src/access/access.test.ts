import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKeyRecord } from '../platform/storage/contract/samples.ts';
import type { MemberRecord } from '../platform/storage/ports/members.ts';
import type { DesignatedPreset } from '../platform/storage/ports/presets.ts';
import type { AppliedSettings } from '../platform/storage/ports/workspaces.ts';
import { type Access, type KnownKey, openAccess } from './access.ts';
import { hashKey, deriveKeyNumber } from './key-text.ts';
import type { RefusedKey } from './refused-keys.ts';

const open: Access[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const access of open.splice(0)) access.close();
  vi.useRealTimers();
});

const internReach = { mayUse: () => false, mayOpen: () => false };
const noGuardrails = { guardrails: [], assignments: [] };
const text = 'a-test-key-of-ours';
const key = (fields: Partial<KnownKey> = {}) => createKeyRecord({ hash: hashKey(text), ...fields });

/** Of `w1`, which says nothing more. */
const settings = (fields: Partial<AppliedSettings> = {}): AppliedSettings => ({
  workspaceId: 'w1',
  ioLogging: null,
  defaultTextModel: null,
  defaultImageModel: null,
  defaultProviderSort: null,
  defaultPlugins: null,
  disabledServerTools: null,
  rateLimits: null,
  ...fields,
});

async function openWith(...keys: KnownKey[]) {
  const store = {
    keys,
    revision: 1,
    isGone: false,
    reads: 0,
    settings: [] as AppliedSettings[],
    members: [] as MemberRecord[],
    presets: [] as DesignatedPreset[],
    versionsRead: [] as string[],
    wait: undefined as Promise<void> | undefined,
    limits: undefined as Promise<void> | undefined,
  };
  const troubles: unknown[] = [];
  const refused: RefusedKey[] = [];
  const ask = <Answer>(answer: () => Answer) => {
    store.reads++;
    return store.isGone ? Promise.reject(new Error('gone')) : Promise.resolve(answer());
  };
  const access = await openAccess(
    {
      readRevision: () => ask(() => store.revision),
      listAppliedGuardrails: async () => noGuardrails,
      async listKeys() {
        await store.wait;
        return ask(() => store.keys);
      },
      listDesignatedPresets: async () => store.presets,
      async readPresetSettings(ids) {
        store.versionsRead.push(...ids);
        return ids.map((id) => ({ id, config: `{"top_k":${id.length}}`, systemPrompt: id === 'v1' ? null : 'Hi' }));
      },
      listAppliedSettings: async () => store.settings,
      listWorkspaces: async () => [],
      listMembers: async () => store.members,
    },
    {
      onTrouble: (error) => troubles.push(error),
      onRefused: (key) => refused.push(key),
      onChange: async () => store.limits,
      internReach,
    },
  );
  open.push(access);
  return { access, store, troubles, refused };
}
const nextPoll = () => vi.advanceTimersByTimeAsync(500);

describe('a store that does not respond', () => {
  it('is not needed for a while after its last response', async () => {
    const { access, store } = await openWith(key());
    store.isGone = true;
    await vi.advanceTimersByTimeAsync(10_000);
    access.checkFresh(10_000);
    await vi.advanceTimersByTimeAsync(1000);
    expect(() => access.checkFresh(10_000)).toThrow(
      expect.objectContaining({ kind: 'unavailable', retryAfterSeconds: 5, message: expect.stringContaining('10 s') }),
    );
    expect(access.authenticate(`Bearer ${text}`)).toBeDefined();
    store.isGone = false;
    await nextPoll();
    access.checkFresh(0);
  });

  it('and does not fail counts as unreachable', async () => {
    const { access, store } = await openWith(key());
    store.revision = 2;
    store.wait = new Promise(() => {});
    await vi.advanceTimersByTimeAsync(60_000);
    expect(() => access.checkFresh(10_000)).toThrow('storage.grace_ms');
  });
});

describe('a bearer key', () => {
  it.each([
    `Bearer ${text}`,
    `bearer ${text}`,
    `BEARER   ${text}`,
    `Bearer ${text} `,
  ])('is read from %j', async (sent) => {
    const known = key({ kind: 'member', memberId: 'ada', name: 'app' });
    const { access } = await openWith(known);
    expect(access.authenticate(sent)).toEqual({
      keyHash: known.hash,
      keyName: 'app',
      kind: 'member',
      workspaceId: known.workspaceId,
      memberId: 'ada',
    });
  });

  it('is checked again on the same connection, and may be another one', async () => {
    const other = `${text}0`;
    const { access, store } = await openWith(key({ name: 'app' }), key({ name: 'other', hash: hashKey(other) }));
    const connection = {};
    expect(access.authenticate(`Bearer ${text}`, connection).keyName).toBe('app');
    expect(access.authenticate(`Bearer ${other}`, connection).keyName).toBe('other');
    expect(access.authenticate(`Bearer ${text}`, connection).keyName).toBe('app');
    expect(() => access.authenticate('Bearer', connection)).toThrow('Invalid or missing API key.');
    store.keys = [key({ name: 'app', disabled: true })];
    store.revision++;
    await nextPoll();
    expect(() => access.authenticate(`Bearer ${text}`, connection)).toThrow('The API key is disabled.');
  });

  it.each([undefined, ''])('that is missing is reported as missing: %j', async (sent) => {
    const { access } = await openWith(key());
    expect(() => access.authenticate(sent)).toThrow(
      expect.objectContaining({ kind: 'authentication', message: expect.stringContaining('Missing authentication') }),
    );
  });

  it.each([
    'Bearer',
    'Bearer ',
    `Basic ${text}`,
    `Basic ${btoa(`:${text}x`)}`,
    `Bearer${text}`,
    `Bearer ${text} more`,
    `Bearer ${text.toUpperCase()}`,
    `Bearer ${text}x`,
    `Bearer ${hashKey(text)}`,
    'Bearer another-key',
  ])('that is malformed or unknown gets the same error: %j', async (sent) => {
    const { access } = await openWith(key());
    expect(() => access.authenticate(sent)).toThrow(
      expect.objectContaining({ kind: 'authentication', message: 'Invalid or missing API key.' }),
    );
  });

  it('that is disabled or expired is rejected, exact to the millisecond', async () => {
    const { access, store } = await openWith(key({ disabled: true }));
    expect(() => access.authenticate(`Bearer ${text}`)).toThrow('The API key is disabled.');
    store.keys = [key({ expiresAtMs: Date.now() + 1 })];
    await access.refresh();
    expect(access.authenticate(`Bearer ${text}`).keyName).toBe('app');
    vi.setSystemTime(Date.now() + 1);
    expect(() => access.authenticate(`Bearer ${text}`)).toThrow('The API key has expired.');
  });
});

describe('a rejected key', () => {
  const hash = hashKey(text);

  it('is reported by name with the reason, once a minute, with a count', async () => {
    const { access, store, refused } = await openWith(key({ disabled: true }));
    const come = (sent = text) => expect(() => access.authenticate(`Bearer ${sent}`)).toThrow();
    for (let time = 0; time < 3; time++) come();
    expect(refused.splice(0)).toEqual([{ hash, name: 'app', why: 'disabled', times: 1 }]);
    await vi.advanceTimersByTimeAsync(59_999);
    come();
    expect(refused).toEqual([]);
    store.keys = [];
    await access.refresh();
    await vi.advanceTimersByTimeAsync(1);
    come();
    expect(refused.splice(0)).toEqual([{ hash, name: 'app', why: 'deleted', times: 4 }]);
    store.keys = [key({ expiresAtMs: Date.now() })];
    await access.refresh();
    await vi.advanceTimersByTimeAsync(60_000);
    come();
    expect(refused).toEqual([{ hash, name: 'app', why: 'expired', times: 1 }]);
  });

  it('that is unknown is reported without a name, once a minute for all of them; text without the form of a key is not', async () => {
    const { access, refused } = await openWith();
    for (const sent of ['Bearer one', 'Bearer two', 'Digest a, three']) {
      expect(() => access.authenticate(sent)).toThrow();
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(() => access.authenticate('Bearer four')).toThrow();
    expect(refused).toEqual([
      { hash: hashKey('one'), name: undefined, why: 'unknown', times: 1 },
      { hash: hashKey('four'), name: undefined, why: 'unknown', times: 2 },
    ]);
  });
});

describe('the keys', () => {
  it('follow the store within half a second, and are reloaded only after a change', async () => {
    const { access, store } = await openWith();
    await nextPoll();
    await nextPoll();
    expect(store.reads).toBe(4); // revision and keys at first, then the revision alone
    store.keys = [key()];
    store.revision = 2;
    expect(() => access.authenticate(`Bearer ${text}`)).toThrow();
    await nextPoll();
    expect(access.authenticate(`Bearer ${text}`).keyName).toBe('app');
    store.keys = [];
    store.revision = 3;
    await nextPoll();
    expect(() => access.authenticate(`Bearer ${text}`)).toThrow();
  });

  it('stay unchanged while the store is unreachable, which is reported once; then they follow it again', async () => {
    const { access, store, troubles } = await openWith(key());
    store.isGone = true;
    await nextPoll();
    await nextPoll();
    expect(access.authenticate(`Bearer ${text}`).keyName).toBe('app');
    expect(troubles).toHaveLength(1);
    store.isGone = false;
    store.keys = [];
    store.revision = 2;
    await nextPoll();
    expect(() => access.authenticate(`Bearer ${text}`)).toThrow();
    store.isGone = true;
    await nextPoll();
    expect(troubles).toHaveLength(2);
  });

  it('that are disabled or deleted are rejected at once, and new ones wait for their limits', async () => {
    const [kept, added] = [
      createKeyRecord({ hash: hashKey('kept-key') }),
      createKeyRecord({ hash: hashKey('added-key') }),
    ];
    const { access, store } = await openWith(key(), kept);
    const isKnown = (sent: string) => {
      try {
        return access.authenticate(`Bearer ${sent}`) !== undefined;
      } catch {
        return false;
      }
    };
    const known = () => [text, 'kept-key', 'added-key'].map(isKnown);
    const limits = Promise.withResolvers<void>();
    store.limits = limits.promise;
    store.keys = [kept, added];
    store.revision = 2;
    await nextPoll();
    expect(known()).toEqual([false, true, false]);
    store.keys = [{ ...kept, disabled: true }, added];
    store.revision = 3; // seen while the limits of the change before are still being read
    await nextPoll();
    expect(known()).toEqual([false, false, false]);
    limits.resolve();
    await nextPoll();
    expect(known()).toEqual([false, false, true]);
  });

  it('are those of the later read, whichever of two ends first', async () => {
    const { access, store } = await openWith(key());
    const slow = Promise.withResolvers<void>();
    const listed = store.keys;
    store.wait = slow.promise;
    const earlier = access.refresh();
    await Promise.resolve();
    await Promise.resolve();
    store.wait = undefined;
    store.keys = [];
    await access.refresh();
    store.keys = listed;
    slow.resolve();
    await earlier;
    expect(() => access.authenticate(`Bearer ${text}`)).toThrow('Invalid or missing API key.');
  });

  it('follow the share of sessions whose contents the workspace keeps', async () => {
    const [app, other] = [key({ workspaceId: 'w1' }), createKeyRecord({ workspaceId: 'w1' })];
    const { access, store } = await openWith(app, other);
    const share = () => access.authenticate(`Bearer ${text}`).contentSampling;
    expect(share()).toBeUndefined();
    for (const [apiKeyIds, expected] of [
      [null, 0.5],
      [[deriveKeyNumber(other.hash)], undefined],
      [[deriveKeyNumber(app.hash), 7], 0.5],
    ] as const) {
      store.settings = [settings({ ioLogging: { samplingRate: 0.5, apiKeyIds } })];
      store.revision++;
      await nextPoll();
      expect(share()).toBe(expected);
    }
    store.settings = [settings({ workspaceId: 'w2', ioLogging: { samplingRate: 1, apiKeyIds: null } })];
    store.revision++;
    await nextPoll();
    expect(share()).toBeUndefined();
  });

  it('have the presets of their workspace, and read each version once', async () => {
    const { access, store } = await openWith(key({ workspaceId: 'w1' }));
    const presets = () => access.authenticate(`Bearer ${text}`).presets;
    const preset = { workspaceId: 'w1', slug: 'mine', status: 'active', versionId: 'v1', version: 1 } as const;
    const next = async (...list: DesignatedPreset[]) => {
      store.presets = list;
      store.revision++;
      await nextPoll();
    };
    expect(presets()).toBeUndefined();
    await next(preset, { ...preset, workspaceId: 'w2', slug: 'other', versionId: 'v20' });
    expect([...presets()!.values()]).toEqual([{ slug: 'mine', version: 1, status: 'active', fields: '{"top_k":2}' }]);
    await next({ ...preset, status: 'disabled' });
    expect(presets()!.get('mine')!.status).toBe('disabled');
    await next({ ...preset, versionId: 'v2', version: 2 });
    expect(presets()!.get('mine')!.fields).toBe('{"top_k":2,"instructions":"Hi"}');
    expect(store.versionsRead).toEqual(['v1', 'v20', 'v2']);
    await next();
    expect(presets()).toBeUndefined();
  });

  it('follow the defaults of their workspace', async () => {
    const { access, store } = await openWith(key({ workspaceId: 'w1' }));
    const defaults = () => access.authenticate(`Bearer ${text}`).defaults;
    expect(defaults()).toBeUndefined();
    store.settings = [settings({ defaultTextModel: 'acme/one', defaultProviderSort: 'price' })];
    store.revision++;
    await nextPoll();
    expect(defaults()).toEqual({ textModel: 'acme/one', imageModel: undefined, providerSort: 'price' });
    // By what a later build may sort is nothing that this one knows.
    store.settings = [settings({ defaultProviderSort: 'carbon' })];
    store.revision++;
    await nextPoll();
    expect(defaults()).toBeUndefined();
  });

  it('are no longer polled after close, and the first read must succeed', async () => {
    const { access, store } = await openWith(key());
    access.close();
    await nextPoll();
    expect(store.reads).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
    const none = () => Promise.resolve([]);
    const source = {
      readRevision: () => Promise.reject(new Error('gone')),
      listKeys: none,
      listAppliedSettings: none,
      listDesignatedPresets: none,
      readPresetSettings: none,
      listWorkspaces: async () => [],
      listMembers: none,
      listAppliedGuardrails: async () => noGuardrails,
    };
    await expect(openAccess(source, { onTrouble: () => {}, internReach })).rejects.toThrow('gone');
  });
});

describe('a key that another process changed since the last poll', () => {
  const sent = `Bearer ${text}`;

  it('is valid at once after its creation', async () => {
    const { access, store, refused } = await openWith();
    store.keys = [key({ name: 'new' })];
    store.revision++;
    await expect(access.identify([sent])).resolves.toMatchObject({ keyName: 'new' });
    expect(access.identify([sent])).toMatchObject({ keyName: 'new' }); // no promise
    expect(refused).toEqual([]);
  });

  it('counts beside a placeholder or the key of another service in an earlier header', async () => {
    const { access, store, refused } = await openWith(key());
    expect(access.identify(['Bearer sk-ant-oat01-desktop', sent])).toMatchObject({ keyName: 'app' });
    expect(access.identify(['Digest x y', sent])).toMatchObject({ keyName: 'app' });
    store.keys = [key({ name: 'new', hash: hashKey('created-later') })];
    store.revision++;
    await expect(access.identify(['Bearer none', 'Bearer created-later'])).resolves.toMatchObject({ keyName: 'new' });
    expect(refused).toEqual([]);
  });

  it('is rejected if the store has nothing new, and reported once', async () => {
    const { access, refused } = await openWith(key({ disabled: true }));
    await expect(access.identify([sent])).rejects.toMatchObject({ kind: 'authentication' });
    expect(refused).toMatchObject([{ name: 'app', why: 'disabled', times: 1 }]);
    expect(() => access.identify(['Basic x'])).toThrow('Invalid or missing API key.');
    expect(() => access.identify([])).toThrow('Missing authentication header');
  });

  it('shares reads of the store with all requests that wait', async () => {
    const { access, store } = await openWith();
    const before = store.reads;
    const first = Array.from({ length: 100 }, () => access.identify([sent]));
    await Promise.allSettled(first);
    expect(store.reads).toBe(before + 1);
    const second = Promise.allSettled(Array.from({ length: 100 }, () => access.identify([sent])));
    await vi.advanceTimersByTimeAsync(19);
    expect(store.reads).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(1);
    expect((await second).map(({ status }) => status)).toEqual(Array(100).fill('rejected'));
    expect(store.reads).toBe(before + 2);
  });

  it('is found by the next read if the current one started before the change', async () => {
    const { access, store } = await openWith();
    let end = () => {};
    store.wait = new Promise((resolve) => {
      end = resolve;
    });
    store.revision++;
    const early = Promise.resolve(access.identify([sent]));
    early.catch(() => {});
    await vi.advanceTimersByTimeAsync(0);
    store.keys = [key({ name: 'new' })];
    store.revision++;
    const late = Promise.resolve(access.identify([sent]));
    end();
    await vi.advanceTimersByTimeAsync(1000);
    await expect(late).resolves.toMatchObject({ keyName: 'new' });
    await early.catch(() => {});
  });

  it('cannot be checked while the store does not respond, which is not the mistake of the client', async () => {
    const { access, store, refused } = await openWith(key());
    store.isGone = true;
    await expect(access.identify(['Bearer other'])).rejects.toMatchObject({
      kind: 'unavailable',
      retryAfterSeconds: 1,
    });
    expect(access.identify([sent])).toMatchObject({ keyName: 'app' });
    expect(refused).toEqual([]);
  });

  it('cannot be checked within 1.5 s while the store hangs, and is valid once the store responds again', async () => {
    const { access, store } = await openWith();
    store.revision++;
    store.wait = new Promise(() => {});
    for (let at = 0; at < 3; at++) {
      const failure = Promise.resolve(access.identify([sent])).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(1500);
      expect(await failure).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 1 });
    }
    store.wait = undefined;
    store.keys = [key({ name: 'new' })];
    store.revision++;
    await nextPoll();
    expect(access.identify([sent])).toMatchObject({ keyName: 'new' });
  });

  it('waits at most a second after a slow read, and not at all after one that failed', async () => {
    const { access, store } = await openWith();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.wait = promise;
    store.revision++;
    const slow = Promise.resolve(access.identify([sent])).catch((error: { kind: string }) => error.kind);
    await vi.advanceTimersByTimeAsync(1400);
    resolve();
    expect(await slow).toBe('authentication');
    const next = Promise.resolve(access.identify([sent])).catch((error: { kind: string }) => error.kind);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await next).toBe('authentication');

    const { access: other, store: failing } = await openWith();
    const late = Promise.withResolvers<void>();
    failing.wait = late.promise;
    failing.revision++;
    const failed = Promise.resolve(other.identify([sent])).catch((error: { kind: string }) => error.kind);
    await vi.advanceTimersByTimeAsync(1400);
    late.reject(new Error('gone'));
    expect(await failed).toBe('unavailable');
    failing.wait = undefined;
    const again = Promise.resolve(other.identify([sent])).catch((error: { kind: string }) => error.kind);
    await vi.advanceTimersByTimeAsync(20);
    expect(await again).toBe('authentication');
  });
});
