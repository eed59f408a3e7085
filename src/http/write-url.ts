/** Returns the URL of a server. @param host a name, or an IPv4 or IPv6 address */
export const writeUrl = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
