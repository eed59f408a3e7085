import { useQuery } from '@tanstack/react-query';
import type { JSX } from 'react';
import { send } from '../api/client.ts';
import { Icon } from '../ui/icon.tsx';

const INTERVAL_MS = 15_000;

/** Says that the gateway does not respond. It reads the document of the console, which does not extend the session. */
export function ConnectionNotice(): JSX.Element | null {
  const { error } = useQuery({
    queryKey: ['connection'],
    refetchInterval: INTERVAL_MS,
    retry: false,
    queryFn: async ({ signal }) => {
      await send('GET', new URL(document.baseURI), undefined, signal);
      return true;
    },
  });
  if (error === null) return null;
  return (
    <output className="notice warn connection">
      <Icon name="warning" />
      <span>The gateway does not respond. This page shows what it read before.</span>
    </output>
  );
}
