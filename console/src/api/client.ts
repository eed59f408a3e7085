import type { paths } from './schema.d.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type MethodsOf<P extends keyof paths> = { [M in Method]: paths[P][M] extends object ? M : never }[Method];
type Content<T> = T extends { content: { 'application/json': infer Body } } ? Body : undefined;
type Succeeded<R> = { [S in keyof R]: S extends 200 | 201 ? Content<R[S]> : never }[keyof R];
type Part<T, Name extends string> = T extends { [N in Name]?: infer Value } ? NonNullable<Value> : never;
type PartOf<O, Name extends string> = O extends { parameters: infer Parameters } ? Part<Parameters, Name> : never;

/** The body of a successful response of a route. */
export type Ok<P extends keyof paths, M extends MethodsOf<P>> = paths[P][M] extends { responses: infer R }
  ? Succeeded<R>
  : never;
/** The query parameters of a route. */
export type Query<P extends keyof paths, M extends MethodsOf<P>> = PartOf<paths[P][M], 'query'>;
/** The request body of a route. */
export type Sent<P extends keyof paths, M extends MethodsOf<P>> = paths[P][M] extends { requestBody?: infer B }
  ? Content<NonNullable<B>>
  : never;

export interface CallOptions<P extends keyof paths, M extends MethodsOf<P>> {
  query?: Query<P, M>;
  params?: Record<string, string>;
  body?: Sent<P, M>;
  signal?: AbortSignal | undefined;
}

/** An error response of the gateway, or a failure to reach it, which has the status 0. */
export class ApiError extends Error {
  readonly status: number;
  readonly requestId: string | undefined;

  constructor(status: number, message: string, requestId?: string) {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

let csrfToken = '';

/** Sets the token that requests with a side effect carry. It belongs to the session. */
export function setCsrfToken(token: string): void {
  csrfToken = token;
}

/** @returns the absolute URL of a route. The base of the document has the prefix of a proxy */
export function apiUrl(path: string, query: object = {}): URL {
  const url = new URL(`..${path}`, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * Sends a request to the gateway.
 *
 * @throws {ApiError} for each response other than 2xx, and if the gateway is unreachable
 */
export async function send(method: string, url: URL, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = new Headers();
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (method !== 'GET') headers.set('x-headgate-csrf', csrfToken);
  const response = await fetch(url, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
    credentials: 'same-origin',
    redirect: 'error',
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, 'The gateway does not respond. Check that it runs and that the network is available.');
  });
  if (!response.ok) throw await readError(response);
  return response;
}

/** Calls a route with a JSON response. */
export async function call<P extends keyof paths, M extends MethodsOf<P>>(
  method: M,
  path: P,
  { query, params = {}, body, signal }: CallOptions<P, M> = {},
): Promise<Ok<P, M>> {
  const filled = String(path).replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const response = await send(method.toUpperCase(), apiUrl(filled, query), body, signal);
  return (response.status === 204 ? undefined : await response.json()) as Ok<P, M>;
}

async function readError(response: Response): Promise<ApiError> {
  const id = response.headers.get('x-request-id') ?? undefined;
  const body = (await response.json().catch(() => null)) as { error?: { message?: unknown } } | null;
  const message = body?.error?.message;
  return new ApiError(
    response.status,
    typeof message === 'string' ? message : `The gateway responded with the status ${response.status}.`,
    id,
  );
}
