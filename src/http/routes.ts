import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, KeyKind } from '../domain/caller.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** `gen-…`, in `X-Generation-Id` of every answer. */
    generationId: string;
    /** The bytes of a JSON body; `body` is what they say. */
    rawBody: Buffer | undefined;
    /** Set on every route that needs a key. */
    caller: Caller | undefined;
    /** For the error envelope, once there is a route to tell of. */
    routerMetadata: RouterMetadata | undefined;
  }
}

/** Who may call a route. `nobody`: no key is asked for. `any`: an inference key or a management key. */
export type Permission = 'nobody' | 'inference' | 'any';

/** One row of the table of routes. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  permission: Permission;
  /** Bytes; absent: `server.body_limit`. */
  bodyLimit?: number;
  /** What it returns is sent; a stream is written to `reply.raw` after `reply.hijack()`. */
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** The handlers of `api/`, by what they do. */
export interface Handlers {
  createResponse: Route['handler'];
  findGeneration: Route['handler'];
  listModels: Route['handler'];
  countModels: Route['handler'];
  findModel: Route['handler'];
  listEndpoints: Route['handler'];
  listProviders: Route['handler'];
  health: Route['handler'];
  ready: Route['handler'];
}

/** The one table of routes. */
export function listRoutes(handlers: Handlers): Route[] {
  return [
    { method: 'POST', path: '/api/v1/responses', permission: 'inference', handler: handlers.createResponse },
    { method: 'GET', path: '/api/v1/generation', permission: 'inference', handler: handlers.findGeneration },
    { method: 'GET', path: '/api/v1/models', permission: 'any', handler: handlers.listModels },
    { method: 'GET', path: '/api/v1/models/user', permission: 'any', handler: handlers.listModels },
    { method: 'GET', path: '/api/v1/models/count', permission: 'any', handler: handlers.countModels },
    { method: 'GET', path: '/api/v1/model/*', permission: 'any', handler: handlers.findModel },
    {
      method: 'GET',
      path: '/api/v1/models/:author/:slug/endpoints',
      permission: 'any',
      handler: handlers.listEndpoints,
    },
    { method: 'GET', path: '/api/v1/providers', permission: 'any', handler: handlers.listProviders },
    { method: 'GET', path: '/health', permission: 'nobody', handler: handlers.health },
    { method: 'GET', path: '/ready', permission: 'nobody', handler: handlers.ready },
  ];
}

/** Which kinds of key a permission admits. */
export const admitted: Record<Permission, readonly KeyKind[]> = {
  nobody: [],
  inference: ['member', 'organization'],
  any: ['member', 'organization', 'management'],
};
