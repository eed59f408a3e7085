import type { DefinedRoute } from '../../../http/define-route.ts';
import type { ResponseSockets } from './sockets.ts';

const row = { method: 'GET', path: '/api/v1/responses', permission: 'inference', takesInterns: true } as const;

/** Responses over a WebSocket, which OpenAPI cannot describe. @see docs/reference/responses-websocket.md */
export const socketRoute: DefinedRoute<Pick<ResponseSockets, 'open'>> = {
  ...row,
  operation: undefined,
  bind: ({ open }) => ({ ...row, isSocket: true, handler: open }),
};
