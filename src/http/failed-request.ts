import type { FastifyRequest } from 'fastify';

/** A failed request, with the field names of the log. */
export interface FailedRequest {
  request_id: string;
  generation_id: string;
  method: string;
  route: string;
  /** Slug and display name of the last endpoint that was tried. Absent if there was none. */
  model?: string;
  provider?: string;
}

export const describeRequest = (request: FastifyRequest): FailedRequest => ({
  request_id: request.id,
  generation_id: request.generationId,
  method: request.method,
  route: request.routeOptions.url ?? '',
  ...request.lastEndpoint,
});
