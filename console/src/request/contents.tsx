import { useQuery } from '@tanstack/react-query';
import type { JSX } from 'react';
import { ApiError, apiUrl, call } from '../api/client.ts';
import type { Generation } from '../api/types.ts';
import { Code } from '../ui/copy-button.tsx';
import { Panel } from '../ui/page.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { writeCurl } from './write-curl.ts';

/** The input and the output, if the workspace keeps them, and the request as a command. */
export function Contents({ entry }: { entry: Generation }): JSX.Element {
  const result = useQuery({
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
  if (result.data === undefined) return <Loading />;
  const content = result.data;
  return (
    <>
      <Panel title="Input and output">
        {content === null ? (
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
        <Code text={writeCurl(entry, content?.input, apiUrl('/api/v1'))} label="Copy as curl" />
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
