import type { FastifyRequest } from 'fastify';
import type { RunBase } from '../../pipeline/run.ts';
import { lastAttemptOf } from '../../pipeline/step.ts';

/** Notes for the log which endpoint was tried last. */
export function noteEndpoint(request: FastifyRequest, run: RunBase): void {
  const last = lastAttemptOf(run)?.endpoint;
  if (last) request.askedLast = { model: last.model, provider: last.provider.name };
}
