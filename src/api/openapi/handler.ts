import type { DefinedRoute } from '../../http/define-route.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * `GET /openapi.json`. The document is created at the first request, because few gateways are ever asked for it.
 *
 * @see docs/reference/openapi.md
 */
export function createOpenApiHandler(version: string, routes: readonly DefinedRoute<never>[]) {
  let document: Promise<string> | undefined;
  const create = async (): Promise<string> => {
    const { createDocument } = await import('../../openapi/create-document.ts');
    return JSON.stringify(createDocument(version, routes));
  };
  return async (_request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    document ??= create();
    reply.type('application/json; charset=utf-8');
    return document;
  };
}
