const timeoutMs = 2000;

export interface FoundGateway {
  /** Without a slash at the end. */
  url: string;
  version: string;
}

/** Finds the gateway that responds at an address of this machine. */
export async function findGateway({ host, port }: { host: string; port: number }): Promise<FoundGateway | undefined> {
  const reachable =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const url = `http://${reachable}:${port}`;
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) });
    const body = (await response.json()) as { name?: unknown; version?: unknown } | null;
    return body?.name === 'headgate' ? { url, version: String(body.version) } : undefined;
  } catch {
    return undefined; // nothing listens there, or it is another program
  }
}

/** Describes whether a gateway accepts requests. */
export async function readReadiness({ url }: FoundGateway): Promise<string> {
  try {
    const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(timeoutMs) });
    const body = (await response.json()) as { store?: string; error?: { message?: string } };
    if (!response.ok) return `not ready: ${body.error?.message ?? response.status}`;
    return body.store === undefined ? 'ready' : `ready; the store is ${body.store}`;
  } catch {
    return 'does not respond';
  }
}
