import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { call } from '../api/client.ts';
import { limitsQuery } from '../budgets/limits.ts';
import { Icon } from '../ui/icon.tsx';
import { Panel } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { LimitBar } from '../budgets/limit-bar.tsx';

/** The budgets and limits of keys that are closest to their end. */
export function NearLimits(): JSX.Element {
  const result = useQuery(limitsQuery);
  return (
    <Panel
      title="Budgets"
      aside={
        <Link to="/budgets" className="button small spread">
          All budgets
        </Link>
      }
    >
      <Loaded result={result}>
        {(limits) =>
          limits.length === 0 ? (
            <p className="soft">
              <Icon name="budgets" /> No workspace and no key has a limit. <Link to="/budgets">Set a budget</Link> so
              that one of them cannot spend more than you want.
            </p>
          ) : (
            <ul style={{ display: 'grid', gap: 14 }}>
              {limits.slice(0, 6).map((limit) => (
                <li key={limit.id}>
                  <LimitBar limit={limit} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** The limit of the key of this session. */
export function KeyLimit(): JSX.Element {
  const result = useQuery({ queryKey: ['key'], queryFn: ({ signal }) => call('get', '/api/v1/key', { signal }) });
  return (
    <Panel title="Your key">
      <Loaded result={result}>
        {({ data }) =>
          data.limit === null ? (
            <p className="soft">Your key has no limit of its own. Budgets of its workspace may still apply.</p>
          ) : (
            <LimitBar
              limit={{
                id: 'key',
                name: data.label,
                kind: 'key',
                target: undefined,
                interval: data.limit_reset,
                limit: data.limit,
                used: data.limit - (data.limit_remaining ?? data.limit),
                resetsAt: null,
              }}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
