const FUSION = 'x-router-fusion-depth';
const ADVISOR = 'x-router-advisor-depth';
const SUBAGENT = 'x-router-subagent-depth';

/** The tools that send requests of their own, by the header that those requests carry between gateways. */
const depthHeaders = [
  [FUSION, 'router:fusion'],
  [ADVISOR, 'router:advisor'],
  [SUBAGENT, 'router:subagent'],
] as const;

/**
 * Returns the server tools that the request serves, in this gateway or in another one. They must not call themselves.
 *
 * @returns undefined if there are none
 * @see docs/reference/http.md#headers
 */
export function findServedTools(headers: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const hasAny = headers[FUSION] !== undefined || headers[ADVISOR] !== undefined || headers[SUBAGENT] !== undefined;
  if (!hasAny) return undefined; // nearly always
  const found = depthHeaders.filter(([header]) => isDepth(headers[header])).map(([, type]) => type);
  return found.length > 0 ? found : undefined;
}

const isDepth = (value: unknown): boolean => typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value);

/** Returns the headers that name the served tools for the next gateway. @param served the result of `findServedTools` */
export const listDepthHeaders = (served: readonly string[]): string[] =>
  depthHeaders.flatMap(([header, type]) => (served.includes(type) ? [header, '1'] : []));
