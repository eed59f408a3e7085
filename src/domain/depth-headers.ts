/** The tools that send requests of their own, by the header that those requests carry between gateways. */
const depthHeaders = [
  ['x-router-fusion-depth', 'router:fusion'],
  ['x-router-advisor-depth', 'router:advisor'],
  ['x-router-subagent-depth', 'router:subagent'],
] as const;

/**
 * Returns the server tools that the request serves, in this gateway or in another one. They must not call themselves.
 *
 * @returns undefined if there are none
 * @see docs/reference/http.md#headers
 */
export function findServedTools(headers: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  let found: string[] | undefined;
  for (const [header, type] of depthHeaders) {
    const depth = headers[header];
    if (typeof depth !== 'string' || !/^[1-9]\d{0,8}$/.test(depth)) continue;
    found = [...(found ?? []), type];
  }
  return found;
}

/** Returns the headers that name the served tools for the next gateway. @param served the result of `findServedTools` */
export const listDepthHeaders = (served: readonly string[]): string[] =>
  depthHeaders.flatMap(([header, type]) => (served.includes(type) ? [header, '1'] : []));
