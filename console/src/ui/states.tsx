import type { JSX, ReactNode } from 'react';
import { ApiError } from '../api/client.ts';
import { Icon, type IconName } from './icon.tsx';

/** Shown instead of content that does not exist. It says what to do. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }): JSX.Element {
  return (
    <div className="state">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Shown while content loads. */
export function Loading({ label = 'Loading…' }: { label?: string }): JSX.Element {
  return (
    <output className="state">
      <span className="skeleton" />
      <span>{label}</span>
    </output>
  );
}

/** Shown if content cannot be loaded: what failed, and a button that tries again. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }): JSX.Element {
  const isApi = error instanceof ApiError;
  return (
    <div className="state" role="alert">
      <Icon name="failed" />
      <h2>{isApi && error.status === 403 ? 'This session may not see this' : 'This cannot be shown'}</h2>
      <p>{error instanceof Error ? error.message : 'An unexpected error occurred.'}</p>
      {isApi && error.requestId !== undefined && <p className="mono">Request {error.requestId}</p>}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

interface Result<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** Shows the result of a query in its three states. */
export function Loaded<Data>({
  result,
  children,
}: {
  result: Result<Data>;
  children: (data: Data) => ReactNode;
}): ReactNode {
  if (result.data !== undefined) return children(result.data);
  if (result.error !== null) return <Failed error={result.error} onRetry={() => void result.refetch()} />;
  return <Loading />;
}
