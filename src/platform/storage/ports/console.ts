import type { Listed, Page } from './page.ts';

/** A person who is signed in to the console. */
export interface ConsoleSession {
  id: string;
  /** SHA-256 of the text in the cookie. */
  tokenHash: string;
  /** The key whose rights the session has. */
  keyHash: string;
  /** The browser, as it describes itself. */
  client: string;
  createdAtMs: number;
  /** When it was used last, to the minute. */
  seenAtMs: number;
}

/** A link that signs a person in once. */
export interface ConsoleLink {
  /** SHA-256 of the text in the link. */
  tokenHash: string;
  /** The key whose rights the session will have. */
  keyHash: string;
  expiresAtMs: number;
}

/** Sessions that have not ended yet. */
export interface LiveSessions {
  /** Sessions that were used since then have not ended. */
  seenSinceMs: number;
  /** Sessions that began since then have not ended. */
  createdSinceMs: number;
}

export interface ConsoleStore {
  /**
   * Adds a session. Deletes those that have ended.
   *
   * @param max sessions of its key. The ones that were used last stay
   */
  addSession(session: ConsoleSession, live: LiveSessions, max: number): Promise<void>;
  findSession(tokenHash: string, live: LiveSessions): Promise<ConsoleSession | undefined>;
  /** Remembers that a session was used. */
  touchSession(id: string, atMs: number): Promise<void>;
  /** Lists sessions, the newest first. @param keyHash absent: those of all keys */
  listSessions(query: Page & LiveSessions & { keyHash?: string | undefined }): Promise<Listed<ConsoleSession>>;
  /** @param keyHash absent: a session of any key. @returns false if there is no such session */
  deleteSession(id: string, keyHash?: string): Promise<boolean>;
  /** Adds a link. Deletes those that have expired. */
  addLink(link: ConsoleLink, nowMs: number): Promise<void>;
  /** Uses up a link. @returns the hash of its key; undefined if there is no such link, or it was used, or has expired */
  takeLink(tokenHash: string, nowMs: number): Promise<string | undefined>;
}
