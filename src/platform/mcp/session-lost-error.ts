import { McpError } from '../../domain/mcp.ts';

/**
 * The server has forgotten the session, for example because it was restarted. It has not executed the request.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#session-management
 */
export class SessionLostError extends McpError {}

/**
 * Whether a status and the text of its response have this meaning. Many servers send 400 instead of 404, and others 409
 * (quazardous/nelson-mcp#38) or 503 (markmhendrickson/neotoma#1923).
 */
export const isSessionLost = (status: number, text: string): boolean =>
  status === 404 || (status === 400 ? /session|not initialized/i.test(text) : others.has(status) && lost.test(text));

const others: ReadonlySet<number> = new Set([409, 410, 422, 500, 503]);
const lost =
  /\bsession\b[^.]{0,40}\b(?:not found|unknown|expired|invalid|terminated|does not exist)|\b(?:no valid|invalid|unknown|expired|no such) (?:mcp )?session\b|\bnot initialized\b/i;

/**
 * Whether an error of JSON-RPC, which some servers send with the status 200, has this meaning: joshrotenberg/tower-mcp#65. The
 * codes are those of servers and of invalid requests, never those of a tool.
 */
export const isSessionLostError = (code: number, text: string): boolean =>
  (code === -32_600 || (code <= -32_000 && code >= -32_099)) && lost.test(text);
