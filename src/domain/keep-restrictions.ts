/**
 * Returns the provider preferences of a request that also apply to requests that serve it: a forbidden provider must not
 * see them either. The order and the choice among permitted endpoints are those of the other model.
 */
export function keepRestrictions(provider: Record<string, unknown>): Record<string, unknown> {
  const { order: _, sort: __, allow_fallbacks: ___, require_parameters: ____, options: _____, ...rest } = provider;
  return rest;
}
