import type { FastifyReply, FastifyRequest } from 'fastify';
import { homePage, homePagePolicy } from './page.ts';

/** `GET /`: a page for people who open the URL of the gateway. @see docs/reference/http.md */
export async function showHome(_request: FastifyRequest, reply: FastifyReply): Promise<string> {
  reply.headers({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': homePagePolicy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
  return homePage;
}
