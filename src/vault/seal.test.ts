import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createMasterKeys } from './master-keys.ts';
import { SealError, seal, unseal } from './seal.ts';
import { readLocations, sealSecret, unsealSecret } from './secrets.ts';
import { createVaultKey, unwrapVaultKey } from './vault-keys.ts';

const masterKeys = createMasterKeys(Buffer.from('a master key of the tests'));
const secret = {
  name: 'github_token',
  version: 3,
  hosts: ['api.github.com'],
  locations: ['header' as const],
  createdAtMs: 1_790_000_000_000,
};
const value = Buffer.from('ghp_ ÄÖ 📦');

describe('sealed bytes', () => {
  const key = randomBytes(32);
  const place = ['row', 1];

  it('open in their place, and differ each time', () => {
    const sealed = seal(key, value, place);
    expect(unseal(key, sealed, place)).toEqual(value);
    expect(seal(key, value, place)).not.toBe(sealed);
    expect(unseal(key, seal(key, Buffer.alloc(0), place), place)).toHaveLength(0);
  });

  it('do not open elsewhere, with another key, or if one bit or the spelling was changed', () => {
    const sealed = seal(key, value, place);
    for (const other of [['row', 2], ['row', '1'], ['row'], ['row', 1, null]]) {
      expect(() => unseal(key, sealed, other)).toThrow(SealError);
    }
    expect(() => unseal(randomBytes(32), sealed, place)).toThrow(SealError);
    const bytes = Buffer.from(sealed, 'base64');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => unseal(key, changed.toString('base64'), place)).toThrow(SealError);
    }
    for (let at = 0; at < sealed.length; at++) {
      const letter = sealed[at] === 'A' ? 'B' : 'A';
      const changed = sealed.slice(0, at) + letter + sealed.slice(at + 1);
      expect(() => unseal(key, changed, place)).toThrow(SealError);
    }
    for (const text of ['', ' ', sealed.slice(1), `${sealed} `, sealed.slice(0, 20)]) {
      expect(() => unseal(key, text, place)).toThrow(SealError);
    }
  });
});

describe('the row of a secret', () => {
  const key = createVaultKey('v1');
  const row = sealSecret(key, secret, value);

  it('opens unchanged', () => expect(unsealSecret(key, row)).toEqual(value));

  it.each<[string, object]>([
    ['vault', { vaultId: 'v2' }],
    ['name', { name: 'github_tokem' }],
    ['version', { version: 2 }],
    ['generation', { generation: 2 }],
    ['hosts', { hosts: ['api.github.com', 'evil.example'] }],
    ['location', { locations: ['header', 'path'] }],
    ['default of its locations', { locations: null }],
    ['fingerprint', { fingerprint: `sha256:${'0'.repeat(64)}` }],
    ['creation time', { createdAtMs: 1 }],
  ])('does not open with another %s', (_, changed) => {
    expect(() => unsealSecret(key, { ...row, ...changed })).toThrow('damaged');
  });

  it('that an earlier build wrote has no locations, and opens', () => {
    const { vaultId, name, version, generation, hosts, fingerprint, createdAtMs } = row;
    const place = ['vault secret', vaultId, name, version, generation, hosts, fingerprint, createdAtMs];
    const earlier = { ...row, locations: null, sealed: seal(key.data, value, place) };
    expect(unsealSecret(key, earlier)).toEqual(value);
    expect(readLocations(earlier)).toEqual(['header']);
    expect(() => unsealSecret(key, { ...earlier, locations: ['header'] })).toThrow('damaged');
  });

  it('does not open with the key of another vault', () => {
    using other = createVaultKey('v2');
    expect(() => unsealSecret(other, row)).toThrow('damaged');
    expect(() => unsealSecret(other, { ...row, vaultId: 'v2' })).toThrow('damaged');
  });
});

describe('the keys of a vault', () => {
  it('unwrap only with their master key, in their row', () => {
    using key = createVaultKey('v1');
    const record = key.wrap(masterKeys.current);
    const { sealed } = { ...sealSecret(key, secret, value) };
    using found = unwrapVaultKey(masterKeys, record);
    expect(found.data).toEqual(key.data);
    expect(sealed).not.toContain(value.toString('base64'));

    const wrong = createMasterKeys(Buffer.from('another master key'));
    expect(() => unwrapVaultKey(wrong, record)).toThrow('another master key');
    expect(() => unwrapVaultKey(wrong, { ...record, masterKeyId: wrong.current.id })).toThrow('damaged');
    const both = createMasterKeys(Buffer.from('another master key'), Buffer.from('a master key of the tests'));
    expect(unwrapVaultKey(both, record).data).toEqual(key.data);
    for (const changed of [{ vaultId: 'v2' }, { generation: 2 }]) {
      expect(() => unwrapVaultKey(masterKeys, { ...record, ...changed })).toThrow('damaged');
    }
  });

  it('make the same fingerprints after a rotation, and others in another vault', () => {
    using key = createVaultKey('v1');
    using rotated = key.rotate();
    using again = unwrapVaultKey(masterKeys, rotated.wrap(masterKeys.current));
    using other = createVaultKey('v1');
    expect(rotated.data).not.toEqual(key.data);
    expect(again.generation).toBe(2);
    expect(key.createFingerprint(value)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(again.createFingerprint(value)).toBe(key.createFingerprint(value));
    expect(again.createFingerprint(Buffer.from('x'))).not.toBe(key.createFingerprint(value));
    expect(other.createFingerprint(value)).not.toBe(key.createFingerprint(value));
    expect(again.createPlaceholder('i1', 'a')).toBe(key.createPlaceholder('i1', 'a'));
    expect(key.createPlaceholder('i1', 'a_b1')).toMatch(/^hgsecret_a_b1__[0-9a-f]{32}$/);
    expect(key.createPlaceholder('i2', 'a')).not.toBe(key.createPlaceholder('i1', 'a'));
  });

  it('are overwritten when they are closed', () => {
    const key = createVaultKey('v1');
    key[Symbol.dispose]();
    expect(key.data).toEqual(Buffer.alloc(32));
  });
});
