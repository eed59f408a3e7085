import type { FastifyRequest } from 'fastify';

/** What the log is told of a request that failed. */
export interface FailedRequest {
  id: string;
  generationId: string;
  method: string;
  path: string;
  /** Slug and display name of the endpoint that was asked last; absent when none was. */
  model?: string;
  provider?: string;
}

export const describeRequest = (request: FastifyRequest): FailedRequest => ({
  id: request.id,
  generationId: request.generationId,
  method: request.method,
  path: request.routeOptions.url ?? '',
  ...request.askedLast,
});
