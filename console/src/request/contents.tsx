import { useQuery } from '@tanstack/react-query';
import { type JSX, useState } from 'react';
import { ApiError, apiUrl, call } from '../api/client.ts';
import { workspacesQuery } from '../api/queries.ts';
import type { Generation } from '../api/types.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { Code } from '../ui/copy-button.tsx';
import { Panel } from '../ui/page.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { writeCurl } from './write-curl.ts';

/** The input and the output, if the workspace keeps them, and the request as a command. */
export function Contents({ entry }: { entry: Generation }): JSX.Element {
  const isAdmin = useIsAdmin();
  const workspaces = useQuery({ ...workspacesQuery, enabled: isAdmin, staleTime: 60_000 });
  const workspace = workspaces.data?.find(({ id }) => id === entry.workspace_id);
  const [isWanted, setWanted] = useState(false);
  // Contents from before a workspace stopped keeping them are read on demand.
  const isOff = workspace?.is_observability_io_logging_enabled === false && !isWanted;
  const result = useQuery({
    enabled: !isOff && (!isAdmin || !workspaces.isPending),
    queryKey: ['content', entry.id],
    retry: false,
    queryFn: async ({ signal }) => {
      try {
        return (await call('get', '/api/v1/generation/content', { query: { id: entry.id }, signal })).data;
      } catch (cause) {
        if (cause instanceof ApiError && cause.status === 404) return null;
        throw cause;
      }
    },
  });
  if (result.error !== null) return <Failed error={result.error} onRetry={() => void result.refetch()} />;
  if (result.data === undefined && !isOff) return <Loading />;
  const content = result.data ?? null;
  return (
    <>
      <Panel title="Input and output">
        {isOff ? (
          <div className="row">
            <p className="soft">The workspace keeps no inputs and outputs.</p>
            <button type="button" className="button small" onClick={() => setWanted(true)}>
              Look for earlier ones
            </button>
          </div>
        ) : content === null ? (
          <p className="soft">
            There is none. The workspace keeps no inputs and outputs, this request was not in its sample, or they were
            deleted at the end of their retention.
          </p>
        ) : (
          <div className="content-parts">
            <p className="soft">
              This workspace keeps inputs and outputs. They are deleted after the retention that the configuration sets.
              {content.truncated && ' This one was too long to be kept completely.'}
            </p>
            <Part label="Input" value={content.input} />
            {content.error === null ? (
              <Part label="Output" value={content.output} />
            ) : (
              <Part label="Error" value={content.error} />
            )}
          </div>
        )}
      </Panel>
      <Panel title="As a command">
        <div className="content-parts">
          <p className="soft">
            {content === null
              ? 'The input and the parameters of this request are not kept. Replace the input, and add parameters such as max_output_tokens and metadata.'
              : 'The command has the kept input. Other parameters, such as max_output_tokens and metadata, are not kept, so they are missing here.'}
          </p>
          <Code text={writeCurl(entry, content?.input, apiUrl('/api/v1'))} label="Copy as curl" />
        </div>
      </Panel>
    </>
  );
}

function Part({ label, value }: { label: string; value: unknown }): JSX.Element {
  return (
    <div>
      <h3>{label}</h3>
      <Code text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} />
    </div>
  );
}
