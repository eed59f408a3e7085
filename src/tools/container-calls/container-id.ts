import { createHash } from 'node:crypto';
import type { InputItem } from '../../domain/items.ts';
import type { ContainerEnvironment } from './environment.ts';

/** Ids of containers. */
export const containerIdShape = /^[A-Za-z0-9_-]{1,40}$/;

/** Ids of containers of one request begin with it. */
export const REQUEST_CONTAINER = 'gen_';

/** Characters of a session key that an id keeps. */
const MAX_KEY = 20;

/** Random characters of an id after a restart. */
export const NONCE_LENGTH = 12;

const restartSuffix = /-r[a-z0-9]{12}$/;

const keyShape = /^[A-Za-z0-9_-]+$/;

/** The facts that decide which container a call uses. */
export interface ContainerSession {
  readonly environment: ContainerEnvironment | undefined;
  /** Keys of the session, the most important first. */
  readonly keys: readonly (string | null | undefined)[];
  /** The conversation as the client sent it. */
  readonly input: readonly InputItem[];
  readonly requestId: string;
}

/**
 * Returns the id of the container: the given one, that of the session, the latest one of the conversation, or a new one.
 *
 * @see docs/reference/tools/shell.md#the-container
 */
export function chooseContainerId({ environment, keys, input, requestId }: ContainerSession): string {
  if (environment?.type === 'container_reference') return environment.container_id;
  const key = keys.find((each) => typeof each === 'string' && keyShape.test(each)); // choice 515
  if (key) return `sess_${key.slice(-MAX_KEY)}`;
  return findReplayedId(input) ?? REQUEST_CONTAINER + createHash('sha256').update(requestId).digest('hex').slice(0, 16);
}

/** Ids of providers have other shapes, or are too long. */
function findReplayedId(input: readonly InputItem[]): string | undefined {
  for (let index = input.length - 1; index >= 0; index--) {
    const { container_id: id } = input[index] as { container_id?: unknown };
    if (typeof id === 'string' && containerIdShape.test(id)) return id;
  }
  return undefined;
}

/**
 * Returns the id of the container that replaces another one after a restart.
 *
 * @param nonce 12 lower-case letters and digits
 */
export function nameRestarted(id: string, nonce: string): string {
  const suffix = `-r${nonce}`;
  return id.replace(restartSuffix, '').slice(0, 40 - suffix.length) + suffix; // choice 516
}
