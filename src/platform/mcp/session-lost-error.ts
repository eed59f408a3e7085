import { McpError } from '../../domain/mcp.ts';

/**
 * The server has forgotten the session, for example because it was restarted. It has not executed the request.
 *
 * @see https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#session-management
 */
export class SessionLostError extends McpError {}

/** Whether a status and the text of its response have this meaning. Many servers send 400 instead of 404. */
export const isSessionLost = (status: number, text: string): boolean =>
  status === 404 || (status === 400 && /session|not initialized/i.test(text));
