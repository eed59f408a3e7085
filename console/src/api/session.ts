import { queryOptions } from '@tanstack/react-query';
import { ApiError, call, type Ok, type Sent, setCsrfToken } from './client.ts';

/** The session of the console: the key that signed in, and the token that requests with a side effect carry. */
export type Session = Ok<'/api/v1/console/session', 'get'>['data'];
/** A key, or the token of a link that works once. */
export type Credential = Sent<'/api/v1/console/sessions', 'post'>;

/** The session of this browser. Null: this browser is not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      const { data } = await call('get', '/api/v1/console/session', { signal });
      setCsrfToken(data.csrf_token);
      return data;
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 401) return null;
      throw cause;
    }
  },
});

/** Signs in. @throws {ApiError} */
export async function signIn(body: Credential): Promise<Session> {
  const { data } = await call('post', '/api/v1/console/sessions', { body });
  setCsrfToken(data.csrf_token);
  return data;
}

export async function signOut(): Promise<void> {
  await call('delete', '/api/v1/console/session');
}
