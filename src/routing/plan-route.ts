import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';

/** What routing must know of an endpoint. */
export interface Candidate {
  readonly model: string;
  readonly provider: { readonly name: string };
}

/** Where a run may go: endpoints in the order in which to try them. */
export interface Plan<Endpoint extends Candidate> {
  /** The slug as the caller sent it. */
  requested: string;
  strategy: RouterMetadata['strategy'];
  /** At least one. */
  endpoints: readonly Endpoint[];
}

/** Finds the endpoints of a slug, in the order of the configuration. @returns none when no endpoint carries it */
export type FindEndpoints<Endpoint> = (slug: string) => readonly Endpoint[];

/**
 * Plans the way of a request: the endpoints of its model, then those of its fallback models, each model once.
 *
 * @throws {GatewayError} `model_not_found` when a slug is carried by no endpoint
 * @see routing.md sections 1 and 3
 */
export function planRoute<Endpoint extends Candidate>(
  request: ResponseRequest,
  findEndpoints: FindEndpoints<Endpoint>,
): Plan<Endpoint> {
  const { model, models } = request;
  if (model !== undefined && (models === undefined || models.length === 0)) {
    return { requested: model, strategy: 'direct', endpoints: findOrThrow(model, findEndpoints) };
  }
  const slugs = [...new Set([...(model === undefined ? [] : [model]), ...(models ?? [])])];
  return {
    requested: slugs[0]!,
    strategy: slugs.length > 1 ? 'fallback' : 'direct',
    endpoints: slugs.flatMap((slug) => findOrThrow(slug, findEndpoints)),
  };
}

function findOrThrow<Endpoint>(slug: string, findEndpoints: FindEndpoints<Endpoint>): readonly Endpoint[] {
  const endpoints = findEndpoints(slug);
  if (endpoints.length > 0) return endpoints;
  throw new GatewayError(
    'model_not_found',
    `${slug.slice(0, 200)} is not a valid model ID: no provider of this gateway carries it.`,
    {
      availability: {
        code: 'model_not_found',
        retryable: false,
        requested_models: [slug.slice(0, 200)],
        docs_url: 'docs/reference/errors.md#model_not_found',
      },
    },
  );
}
