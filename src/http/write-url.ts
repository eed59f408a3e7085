/** The address of a server. @param host a name, or an IP address of either kind */
export const writeUrl = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
