import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { currentTimeMs } from '../domain/clock.ts';
import { createTimedId } from '../domain/ids.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { ConsoleSession, ConsoleStore, LiveSessions } from '../platform/storage/ports/console.ts';

/** A session ends when it was not used for this time. */
const IDLE_MS = 12 * 3_600_000;
/** A session ends at this age. The cookie has the same limit. */
export const MAX_SESSION_MS = 30 * 86_400_000;
/** Time to open a link. */
const LINK_MS = 3_600_000;
/** The use of a session is stored at most this often. */
const TOUCH_MS = 60_000;
/** Sessions of a key. */
const MAX_SESSIONS = 100;
/** Characters of the name that a browser gives itself. */
const MAX_CLIENT = 200;
/** The form of the text in a cookie or a link: 32 random bytes. */
const tokenShape = /^[\w-]{43}$/;

const createToken = (): string => randomBytes(32).toString('base64url');
const hashToken = (token: string): string => hash('sha256', token);

/** The sessions that have not ended. */
export function liveSessions(): LiveSessions {
  const nowMs = currentTimeMs();
  return { seenSinceMs: nowMs - IDLE_MS, createdSinceMs: nowMs - MAX_SESSION_MS };
}

/** When the session ends if it is not used any more, Unix milliseconds. */
export const sessionEndMs = ({ seenAtMs, createdAtMs }: ConsoleSession): number =>
  Math.min(seenAtMs + IDLE_MS, createdAtMs + MAX_SESSION_MS);

/**
 * The text that each change of a session sends in a header. A page of another site cannot read it. It follows from the
 * cookie, which scripts cannot read.
 */
export const createCsrfToken = (token: string): string => hash('sha256', `headgate csrf ${token}`);

export function isCsrfToken(sent: string, token: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(createCsrfToken(token))];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Begins a session. @returns it, and the text of its cookie. @throws {GatewayError} `unavailable` */
export async function beginSession(
  store: ConsoleStore,
  keyHash: string,
  client = '',
): Promise<{ session: ConsoleSession; token: string }> {
  const token = createToken();
  const nowMs = currentTimeMs();
  const session: ConsoleSession = {
    id: createTimedId('session-'),
    tokenHash: hashToken(token),
    keyHash,
    client: client.slice(0, MAX_CLIENT),
    createdAtMs: nowMs,
    seenAtMs: nowMs,
  };
  await callStore(() => store.addSession(session, liveSessions(), MAX_SESSIONS));
  return { session, token };
}

/** Finds the session of a cookie, and notes that it is used. @throws {GatewayError} `unavailable` */
export async function findSession(store: ConsoleStore, token: string): Promise<ConsoleSession | undefined> {
  if (!tokenShape.test(token)) return undefined;
  return callStore(async () => {
    const session = await store.findSession(hashToken(token), liveSessions());
    const nowMs = currentTimeMs();
    if (session && nowMs - session.seenAtMs >= TOUCH_MS) await store.touchSession(session.id, nowMs);
    return session;
  });
}

/** Whether a session has not ended. Does not count as a use. @throws {GatewayError} `unavailable` */
export const isSessionOpen = async (
  store: Pick<ConsoleStore, 'findSession'>,
  { tokenHash }: Pick<ConsoleSession, 'tokenHash'>,
): Promise<boolean> => (await callStore(() => store.findSession(tokenHash, liveSessions()))) !== undefined;

/** Creates a link that signs a person in once, within an hour. @returns the text in the link. @throws the store's error */
export async function createSignInToken(store: Pick<ConsoleStore, 'addLink'>, keyHash: string): Promise<string> {
  const token = createToken();
  const nowMs = currentTimeMs();
  await store.addLink({ tokenHash: hashToken(token), keyHash, expiresAtMs: nowMs + LINK_MS }, nowMs);
  return token;
}

/** Uses up a link. @returns the hash of its key; undefined: it is not valid any more. @throws {GatewayError} `unavailable` */
export async function useSignInToken(store: ConsoleStore, token: string): Promise<string | undefined> {
  if (!tokenShape.test(token)) return undefined;
  return callStore(() => store.takeLink(hashToken(token), currentTimeMs()));
}

/** Writes the address that signs a person in. The token is in the fragment, which browsers do not send. */
export const writeSignInUrl = (gatewayUrl: string, token: string): string =>
  `${gatewayUrl.replace(/\/$/, '')}/console/sign-in#token=${token}`;
