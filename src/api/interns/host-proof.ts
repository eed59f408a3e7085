import { hash, randomBytes } from 'node:crypto';
import type { TextSigner } from '../../access/sign-text.ts';
import { isSame } from './is-same.ts';

/** A host of the gateway: all processes that share a data folder. All hosts of a database have the same master key. */
export interface HostIdentity {
  id: string;
  sign: TextSigner;
}

/** Returns the id of a host. Processes with the same data folder have the same one. */
export const hashHost = (name: string, dataDir: string): string => hash('sha256', `${name}\0${dataDir}`).slice(0, 32);

/** Headers of `GET /health`: the challenge of another host, and the proof in the response. choice 761 */
export const HOST_CHALLENGE = 'x-headgate-host-challenge';
export const HOST_PROOF = 'x-headgate-host-proof';

/** A text that only hosts with the master key can write and prove. */
export interface HostChallenge {
  text: string;
  /** Whether a proof is that of a host. */
  isProvenBy(hostId: string, proof: unknown): boolean;
}

/** Creates a challenge, which is used once. */
export function createHostChallenge({ sign }: Pick<HostIdentity, 'sign'>): HostChallenge {
  const nonce = randomBytes(16).toString('hex');
  return {
    text: `${nonce}.${sign('host-challenge', nonce)}`,
    isProvenBy: (hostId, proof) => typeof proof === 'string' && isSame(proof, signProof(sign, hostId, nonce)),
  };
}

/** @returns undefined if the challenge is not one of a host with the same master key */
export function proveOwnHost({ id, sign }: HostIdentity, challenge: unknown): string | undefined {
  const [, nonce, signature] = /^([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(String(challenge)) ?? [];
  if (nonce === undefined || signature === undefined) return undefined;
  return isSame(signature, sign('host-challenge', nonce)) ? signProof(sign, id, nonce) : undefined;
}

const signProof = (sign: TextSigner, hostId: string, nonce: string): string => sign('host-proof', `${hostId} ${nonce}`);
