import type { FastifyRequest } from 'fastify';
import type { RunBase } from '../../pipeline/run.ts';

/** For the log: which endpoint was asked last. */
export function noteEndpoint(request: FastifyRequest, { attempts }: RunBase): void {
  const last = attempts.at(-1)?.endpoint;
  if (last) request.askedLast = { model: last.model, provider: last.provider.name };
}
