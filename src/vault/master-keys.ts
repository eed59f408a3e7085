import { createHmac } from 'node:crypto';
import { deriveKey } from './seal.ts';

/** A key that wraps the keys of vaults. */
export interface MasterKey {
  /** Says which key wrapped a row, and nothing about the key itself. */
  id: string;
  /** Derived from the master key of the configuration. */
  wrapping: Buffer;
}

/** The master key, and the one before it while keys are rotated. */
export interface MasterKeys {
  current: MasterKey;
  previous: MasterKey | undefined;
}

/** @param current as `readMasterKey` returns it */
export const createMasterKeys = (current: Buffer, previous?: Buffer): MasterKeys => ({
  current: createMasterKey(current),
  previous: previous && createMasterKey(previous),
});

function createMasterKey(text: Buffer): MasterKey {
  const wrapping = deriveKey(text, 'vault wrapping');
  return { wrapping, id: createHmac('sha256', wrapping).update('id').digest('hex').slice(0, 16) };
}

export const findMasterKey = ({ current, previous }: MasterKeys, id: string): MasterKey | undefined =>
  [current, previous].find((key) => key?.id === id);
