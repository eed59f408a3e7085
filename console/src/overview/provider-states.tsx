import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { call } from '../api/client.ts';
import { formatCount, formatDuration } from '../logic/numbers.ts';
import { formatAge } from '../logic/time.ts';
import { Panel } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Status } from '../ui/status.tsx';
import { Absent } from '../ui/values.tsx';
import { readHealth } from './provider-health.ts';
import { numeric, TableHead } from '../ui/table-head.tsx';

const words = { good: 'works', warn: 'some errors', bad: 'failing' };

/** The state of each provider, from the attempts of the last requests. */
export function ProviderStates(): JSX.Element {
  const result = useQuery({
    queryKey: ['recent'],
    refetchInterval: 15_000,
    queryFn: ({ signal }) => call('get', '/api/v1/generations', { query: { limit: 100 }, signal }),
  });
  return (
    <Panel
      title="Providers"
      padded={false}
      aside={<span className="soft">attempts of the last {result.data?.data.length ?? 100} requests</span>}
    >
      <Loaded result={result}>
        {({ data }) => (
          <table>
            <TableHead columns={['Provider', 'State', numeric('Failed'), numeric('First output'), 'Last error']} />
            <tbody>
              {readHealth(data).map(({ name, tone, attempts, failed, succeeded, firstMs, lastError }) => (
                <tr key={name}>
                  <th scope="row">
                    <ProviderLink name={name} succeeded={succeeded} failedId={lastError?.id} />
                  </th>
                  <td>
                    <Status tone={tone}>{words[tone]}</Status>
                  </td>
                  <td className="number">
                    {formatCount(failed)} of {formatCount(attempts)}
                  </td>
                  <td className="number">{firstMs === null ? <Absent /> : formatDuration(firstMs)}</td>
                  <td>
                    {lastError === undefined ? (
                      <Absent />
                    ) : (
                      <Link to="/requests/$id" params={{ id: lastError.id }} title={lastError.message ?? undefined}>
                        {lastError.status}, {formatAge(lastError.at)}
                      </Link>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </Panel>
  );
}

/** The filter `provider` finds the requests of the provider that responded. Without one, the link opens the last failure. */
function ProviderLink({
  name,
  succeeded,
  failedId,
}: {
  name: string;
  succeeded: number;
  failedId: string | undefined;
}): JSX.Element {
  if (succeeded > 0) {
    return (
      <Link to="/requests" search={{ provider: name }} title="Its requests">
        {name}
      </Link>
    );
  }
  if (failedId === undefined) return <>{name}</>;
  return (
    <Link to="/requests/$id" params={{ id: failedId }} title="Its last failed request">
      {name}
    </Link>
  );
}
