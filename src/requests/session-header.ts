import type { IncomingHttpHeaders } from 'node:http';
import type { Issue } from '../domain/errors.ts';
import { show } from '../schema/report.ts';
import { characterCount } from '../schema/shapes.ts';

/** Maximum characters of `session_id`, of the header `x-session-id` and of `user`. */
export const maxIdCharacters = 256;

/**
 * Returns the session that the headers name: `x-session-id`, or the header of a coding agent. A header of an agent that
 * is too long for an id is ignored.
 */
export function findSessionHeader(headers: IncomingHttpHeaders): string | undefined {
  const own = headers['x-session-id'];
  if (typeof own === 'string' && own !== '') return own;
  // Constant names: a loop over names takes several times as long for a request without any of them.
  return (
    readId(headers['session_id']) ?? // Codex
    readId(headers['conversation_id']) ?? // Codex, older
    readId(headers['x-claude-code-session-id']) ??
    readId(headers['x-opencode-session']) ??
    readId(headers['x-session-affinity'])
  );
}

/** The session in the id of an end user that Claude Code sends: `user_…_session_{uuid}`, or JSON with `session_id`. */
const agentSession = /_session_([\da-f-]{36})$|"session_id":"([\w-]{1,100})"/;

/** Returns the session that a coding agent has written into the id of the end user. */
export function findSessionOfUser(user: string | null | undefined): string | undefined {
  const found = user?.includes('session') ? agentSession.exec(user) : null;
  return found?.[1] ?? found?.[2];
}

const readId = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= maxIdCharacters ? value : undefined;

/** Returns the issue of a session id that is too long. */
export function checkSessionId(sessionId: string | undefined): Issue[] {
  if (sessionId === undefined || sessionId.length <= maxIdCharacters) return [];
  const length = characterCount(sessionId);
  if (length <= maxIdCharacters) return [];
  const message = `The header \`x-session-id\` has ${length} characters; at most ${maxIdCharacters} are allowed: ${show(sessionId)}.`;
  return [{ path: 'x-session-id', message }];
}
