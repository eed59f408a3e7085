import { createContext, useContext } from 'react';
import type { Session } from '../api/session.ts';

export const SessionContext = createContext<Session | null>(null);

/** The session of a page. Pages exist only while there is one. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('A page was shown without a session.');
  return session;
}

export const useIsAdmin = (): boolean => useSession().kind === 'management';
