import { useQuery } from '@tanstack/react-query';
import type { JSX } from 'react';
import { call } from '../api/client.ts';
import { Panel } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Status } from '../ui/status.tsx';
import { Time } from '../ui/values.tsx';

/** The last alerts, whether or not a webhook received them. */
export function RecentAlerts(): JSX.Element {
  const result = useQuery({
    queryKey: ['alerts'],
    refetchInterval: 30_000,
    queryFn: ({ signal }) => call('get', '/api/v1/alerts', { query: { limit: 6 }, signal }),
  });
  return (
    <Panel title="Alerts" padded={false}>
      <Loaded result={result}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="soft" style={{ padding: 16 }}>
              There are no alerts. Budgets, outages, error rates and keys that expire would appear here.
            </p>
          ) : (
            <table>
              <tbody>
                {data.map(({ id, kind, message, raised_at }) => (
                  <tr key={id}>
                    <td>
                      <Status tone={kind === 'provider_up' || kind === 'test' ? 'soft' : 'warn'}>
                        {kind.replaceAll('_', ' ')}
                      </Status>
                    </td>
                    <td style={{ whiteSpace: 'normal', width: '80%' }}>{message}</td>
                    <td className="number">
                      <Time at={raised_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </Panel>
  );
}
