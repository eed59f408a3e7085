import { docsUrl } from '../domain/docs-url.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { type AvailabilityCode, GatewayError, createAvailability, shortenSlug } from '../domain/errors.ts';
import { type Exclusion, UNPRICED } from './exclusion.ts';
import { contextOf } from './filters.ts';
import type { Needs } from './needs.ts';

/** The slug is unknown. @param nearest a similar known slug */
export const modelNotFound = (slug: string, nearest?: string): GatewayError =>
  new GatewayError(
    'model_not_found',
    `${shortenSlug(slug)} is not a valid model ID: no provider of this gateway has it.${nearest === undefined ? '' : ` Did you mean ${nearest}?`}`,
    { availability: createAvailability('model_not_found', [slug]) },
  );

/** @param providers that have the model but are not configured */
export function noEndpoints(slug: string, variant?: string, providers: readonly string[] = []): GatewayError {
  const why =
    variant === undefined
      ? providers.length > 0
        ? `its providers (${providers.join(', ')}) are not configured here`
        : 'no provider of this gateway has it'
      : `it has no variant :${variant}`;
  const more = providers.length > 0 ? { affected_providers: [...providers] } : {};
  const remedy = variant === undefined && providers.length > 0 ? ` See ${docsUrl('guides/providers')}.` : '';
  return new GatewayError('not_found', `No endpoints found for ${shortenSlug(slug)}: ${why}.${remedy}`, {
    availability: createAvailability('no_endpoints', [slug], more),
  });
}

/** A router has no candidates. */
export const noCandidates = (
  slug: string,
  message: string,
  metadata: Record<string, unknown> = {},
  code: AvailabilityCode = 'constraint_filtered',
): GatewayError => new GatewayError('not_found', message, { metadata, availability: createAvailability(code, [slug]) });

/** Returns the error if every endpoint of the model is excluded for a reason that has an error of its own. */
function createRequestError(
  code: string,
  model: string,
  shown: string,
  slugs: readonly string[],
): GatewayError | undefined {
  switch (code) {
    case UNPRICED: {
      const message = `A spending limit applies to this key, and no price of ${model} is known.`;
      const remedy =
        'Set `pricing` of the model in the configuration, 0 if it is free, or set `limits.unpriced_models` to a price or to `allow`.';
      return new GatewayError('payment_required', `${message} ${remedy}`, {
        metadata: { limit_source: 'unpriced_model', remedy_hint: remedy },
      });
    }
    case 'wrong_endpoint':
      return new GatewayError('wrong_endpoint', `${model} cannot serve this route: ${shown}.`, {
        availability: createAvailability(code, slugs),
      });
    case 'n':
    case 'input':
    case 'documents':
    case 'input_references':
    case 'output_format': {
      const message = `No endpoint of ${model} supports this: ${shown}.`;
      return new GatewayError('invalid_request', `${code}: ${message}`, {
        metadata: { param: code, issues: [{ path: code, message }] },
      });
    }
    default:
      return undefined;
  }
}

interface ExcludedEndpoint extends Exclusion {
  endpoint: EndpointFacts;
}

/** The codes of `excluded_by`. Our own codes are not in it. @see docs/reference/errors.md#errormetadata */
const wireCodes = new Set([
  'geo',
  'data_region',
  'data_policy:zdr',
  'data_policy:training',
  'max_price',
  'context_length',
  'require_parameters',
  'quantization',
  'allowed_providers',
]);

/** Explains that every endpoint is excluded, with each reason once. */
export function allExcluded(
  slugs: readonly string[],
  excluded: readonly ExcludedEndpoint[],
  needs: Needs,
): GatewayError {
  const codes = [...new Set(excluded.map(({ code }) => code))];
  const reasons = [...new Set(excluded.map(({ endpoint, reason }) => `${endpoint.tag} ${reason}`))];
  const shown = reasons.slice(0, 5).join('; ') + (reasons.length > 5 ? `; and ${reasons.length - 5} more` : '');
  const model = slugs.map(shortenSlug).slice(0, 3).join(', ');
  if (codes.length === 1 && codes[0] === 'allowed_models') {
    const why = [...new Set(excluded.map(({ reason }) => reason))].join('; ');
    return new GatewayError('permission_denied', `This key must not use ${model}: each endpoint ${why}.`);
  }
  const otherCodes = codes.filter((code) => code !== 'allowed_providers'); // without the caller's own exclusions
  const requestError = otherCodes.length === 1 ? createRequestError(otherCodes[0]!, model, shown, slugs) : undefined;
  if (requestError) return requestError;
  if (codes.length === 1 && codes[0] === 'context_length') {
    return new GatewayError(
      'context_length_exceeded',
      `The input is too long for every endpoint of ${model}: ${shown}. ${needs.tooLongAdvice}`,
      {
        tokens: { input: needs.minInputTokens, max: Math.max(...excluded.map(({ endpoint }) => contextOf(endpoint))) },
      },
    );
  }
  const isPrivacy = codes.length > 0 && codes.every((code) => code.startsWith('data_policy:'));
  const known = codes.filter((code) => wireCodes.has(code));
  const [only] = codes.length === 1 ? codes : [];
  return new GatewayError(
    'not_found',
    `No allowed providers are available for the selected model. ${model}: ${shown || 'no endpoint'}.`,
    {
      availability: createAvailability(isPrivacy ? 'privacy_restricted' : 'constraint_filtered', slugs, {
        affected_providers: [...new Set(excluded.map(({ endpoint }) => endpoint.provider.name))].slice(0, 100),
        ...(known.length > 0 ? { excluded_by: known } : undefined),
        ...(only === undefined ? undefined : { constraint: { field: only, detail: shown } }),
      }),
    },
  );
}
