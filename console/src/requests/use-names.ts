import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { keysQuery, workspacesQuery } from '../api/queries.ts';
import { useSession } from '../shell/use-session.ts';

export interface Names {
  /** @returns the name of a key, or the first digits of its hash */
  key: (hash: string | null | undefined) => string;
  workspace: (id: string | null | undefined) => string;
}

/** Names of keys and workspaces. An inference session knows only its own key. */
export function useNames(): Names {
  const session = useSession();
  const enabled = session.kind === 'management';
  const keys = useQuery({ ...keysQuery, enabled, staleTime: 60_000 });
  const workspaces = useQuery({ ...workspacesQuery, enabled, staleTime: 60_000 });
  return useMemo(() => {
    const keyNames = new Map(keys.data?.map(({ hash, name, label }) => [hash, name || label]));
    keyNames.set(session.key_hash, keyNames.get(session.key_hash) ?? session.key_name);
    const workspaceNames = new Map(workspaces.data?.map(({ id, name }) => [id, name]));
    return {
      key: (hash) => (hash ? (keyNames.get(hash) ?? hash.slice(0, 12)) : ''),
      workspace: (id) => (id ? (workspaceNames.get(id) ?? id.slice(0, 8)) : ''),
    };
  }, [keys.data, workspaces.data, session]);
}
