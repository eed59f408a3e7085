import type { IncomingMessage } from 'node:http';

/** `/openai/deployments/acme%2Fone/chat/completions?api-version=…`, with or without the base path of the gateway. */
const deploymentPath =
  /^(?:\/api(?:\/v1)?)?\/openai\/deployments\/([^/].{0,300}?)\/(chat\/completions|completions|embeddings|images\/edits|images\/generations|responses)(?=\?|$)/;

/** The models that paths name. */
const deployments = new WeakMap<IncomingMessage, string>();

/**
 * Returns the path of a request without `/openai` and the deployment that the clients of Azure add to it. The body of a
 * request with a deployment need not name its model.
 *
 * @see docs/reference/http.md#paths-of-azures-clients
 */
export function withoutAzure(request: IncomingMessage): string {
  const { url = '/' } = request;
  const [path, deployment, operation] = deploymentPath.exec(url) ?? [];
  if (path === undefined) return url;
  try {
    deployments.set(request, decodeURIComponent(deployment!));
  } catch {
    return url; // the path is malformed
  }
  return `/api/v1/${operation}${url.slice(path.length)}`;
}

/** Adds the model that the path names to a body that names none. */
export function addDeployment(request: IncomingMessage, body: unknown): void {
  const deployment = deployments.get(request);
  if (deployment === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return;
  (body as Record<string, unknown>)['model'] ??= deployment;
}
