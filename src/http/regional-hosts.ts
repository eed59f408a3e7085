import { GatewayError } from '../domain/errors.ts';

/**
 * Rejects a request to one of the host names that serve no stored files, containers and interns.
 *
 * @param host the header `Host`
 * @param regionalHosts names, with or without a port. Without one, every port counts.
 * @throws {GatewayError} `permission_denied`
 * @see docs/reference/http.md#regional-hosts
 */
export function checkHost(host: string | undefined, regionalHosts: readonly string[]): void {
  if (host === undefined || regionalHosts.length === 0) return;
  const whole = host.toLowerCase();
  const name = whole.replace(/:\d*$/, '');
  const found = regionalHosts.find((each) => [whole, name].includes(each.toLowerCase()));
  if (found === undefined) return;
  throw new GatewayError(
    'permission_denied',
    `${found} is a regional host name (server.regional_hosts), which serves no files, containers and interns. Use another host name of the gateway.`,
  );
}
