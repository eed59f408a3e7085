import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { JSX } from 'react';
import { call } from '../api/client.ts';
import { formatAge, formatDay } from '../logic/time.ts';
import { describeBrowser } from './describe-browser.ts';
import { Page } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Status } from '../ui/status.tsx';
import { TableHead } from '../ui/table-head.tsx';

/** The sessions of the console, and a way to end them. */
export function SessionsPage(): JSX.Element {
  const client = useQueryClient();
  const result = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => call('get', '/api/v1/console/sessions', { signal }),
  });
  const end = useMutation({
    mutationFn: (id: string) => call('delete', '/api/v1/console/sessions/{id}', { params: { id } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <Page title="Sessions" about="Browsers that are signed in. End a session that you do not know.">
      {end.error !== null && (
        <p className="notice bad" role="alert">
          {end.error.message}
        </p>
      )}
      <Loaded result={result}>
        {({ data }) => (
          <section className="panel table-scroll" aria-label="Sessions">
            <table>
              <TableHead columns={['Key', 'Browser', 'Last use', 'Ends']} hasActions />
              <tbody>
                {data.map(({ id, key_name, kind, client: browser, last_used_at, expires_at, is_current }) => (
                  <tr key={id}>
                    <th scope="row" className="name-cell">
                      {key_name}
                      <div className="soft">{kind} key</div>
                    </th>
                    <td title={browser}>{describeBrowser(browser)}</td>
                    <td>{formatAge(last_used_at)}</td>
                    <td>{formatDay(expires_at)}</td>
                    <td className="actions">
                      {is_current ? (
                        <Status tone="good">this one</Status>
                      ) : (
                        <button
                          type="button"
                          className="button small"
                          aria-label={`End the session of ${key_name}, ${formatAge(last_used_at)}`}
                          disabled={end.isPending}
                          onClick={() => end.mutate(id)}
                        >
                          End
                        </button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </Loaded>
    </Page>
  );
}
