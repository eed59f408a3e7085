import type { FastifyRequest } from 'fastify';

/** What the log is told of a request that failed, by the names that its lines of requests and attempts have. */
export interface FailedRequest {
  request_id: string;
  generation_id: string;
  method: string;
  route: string;
  /** Slug and display name of the endpoint that was asked last; absent when none was. */
  model?: string;
  provider?: string;
}

export const describeRequest = (request: FastifyRequest): FailedRequest => ({
  request_id: request.id,
  generation_id: request.generationId,
  method: request.method,
  route: request.routeOptions.url ?? '',
  ...request.askedLast,
});
