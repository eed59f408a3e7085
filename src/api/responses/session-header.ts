import type { IncomingHttpHeaders } from 'node:http';
import type { Issue } from '../../domain/errors.ts';
import { show } from '../../schema/report.ts';
import { characterCount } from '../../schema/shapes.ts';
import { maxIdCharacters } from './schema.ts';

/** How coding agents name the session that a request belongs to, each in a header of its own. */
const agentHeaders = [
  'session_id', // Codex
  'conversation_id', // Codex, older
  'x-claude-code-session-id',
  'x-opencode-session',
  'x-session-affinity',
];

/**
 * The session that the headers name: `x-session-id`, else the header of a coding agent. One of the latter that is too
 * long for an id is nobody's mistake, and left alone.
 */
export function findSessionHeader(headers: IncomingHttpHeaders): string | undefined {
  const own = headers['x-session-id'];
  if (typeof own === 'string' && own !== '') return own;
  for (const name of agentHeaders) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '' && value.length <= maxIdCharacters) return value;
  }
  return undefined;
}

/** What is wrong with the session that a header names: it may be too long. */
export function checkSessionId(sessionId: string | undefined): Issue[] {
  if (sessionId === undefined || sessionId.length <= maxIdCharacters) return [];
  const length = characterCount(sessionId);
  if (length <= maxIdCharacters) return [];
  const message = `The header \`x-session-id\` has ${length} characters; at most ${maxIdCharacters} are allowed: ${show(sessionId)}.`;
  return [{ path: 'x-session-id', message }];
}
