import { queryOptions } from '@tanstack/react-query';
import { ApiError, apiUrl, send, setCsrfToken } from './client.ts';

/** The session of the console: the key that signed in, and the token that requests with a side effect carry. */
export interface Session {
  id: string;
  kind: 'management' | 'inference';
  key_name: string;
  key_hash: string;
  workspace_id: string | null;
  csrf_token: string;
  created_at: string;
  expires_at: string;
}

async function readSession(response: Response): Promise<Session> {
  const { data } = (await response.json()) as { data: Session };
  setCsrfToken(data.csrf_token);
  return data;
}

/** The session of this browser. Null: this browser is not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      return await readSession(await send('GET', apiUrl('/api/v1/console/session'), undefined, signal));
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 401) return null;
      throw cause;
    }
  },
});

/** Signs in with a key, or with the token of a link that works once. @throws {ApiError} */
export async function signIn(credential: { key: string } | { token: string }): Promise<Session> {
  return readSession(await send('POST', apiUrl('/api/v1/console/sessions'), credential));
}

export async function signOut(): Promise<void> {
  await send('DELETE', apiUrl('/api/v1/console/session'));
}
