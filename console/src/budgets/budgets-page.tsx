import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { keysQuery } from '../api/queries.ts';
import { KeyForm } from '../keys/key-form.tsx';
import { formatShare } from '../logic/numbers.ts';
import { formatTime } from '../logic/time.ts';
import { toNano } from '../logic/money.ts';
import { Icon } from '../ui/icon.tsx';
import { MenuButton } from '../ui/menu.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Status } from '../ui/status.tsx';
import { Absent, Money } from '../ui/values.tsx';
import { BudgetForm, RemoveBudget } from './budget-form.tsx';
import { LimitBar } from './limit-bar.tsx';
import { intervalWords, type Limit, limitsQuery, usedShare } from './limits.ts';
import { numeric, TableHead } from '../ui/table-head.tsx';

type Open = { kind: 'set'; limit?: Limit } | { kind: 'remove' | 'key'; limit: Limit };

/** All budgets of workspaces and limits of keys. */
export function BudgetsPage(): JSX.Element {
  const result = useQuery(limitsQuery);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const keys = useQuery(keysQuery).data;
  const editedKey = open?.kind === 'key' ? keys?.find(({ hash }) => hash === open.limit.target) : undefined;
  return (
    <Page
      title="Budgets"
      about={
        <>
          A request that could exceed one of its limits is rejected before it reaches a provider: with 402 by the limit
          of its key, with 403 by a budget of its workspace. Limits start over at midnight UTC. Budgets of tags, members
          and the organization are set in the configuration, see <code>docs/guides/limits.md</code>;{' '}
          <code>headgate budgets</code> lists all.
        </>
      }
      actions={
        <button type="button" className="button primary spread" onClick={() => setOpen({ kind: 'set' })}>
          <Icon name="plus" /> Set a budget
        </button>
      }
    >
      <Loaded result={result}>
        {(limits) =>
          limits.length === 0 ? (
            <Empty icon="budgets" title="There are no limits yet">
              <p>
                A budget limits what a workspace spends each day, week or month, or in total. Keys can have limits, too.
              </p>
            </Empty>
          ) : (
            <LimitTable limits={limits} onOpen={setOpen} />
          )
        }
      </Loaded>
      {open?.kind === 'set' && <BudgetForm edited={open.limit} onClose={close} />}
      {open?.kind === 'key' && editedKey !== undefined && (
        <KeyForm edited={editedKey} onClose={close} onCreated={close} />
      )}
      {open?.kind === 'remove' && <RemoveBudget edited={open.limit} onClose={close} />}
    </Page>
  );
}

function LimitTable({ limits, onOpen }: { limits: readonly Limit[]; onOpen: (open: Open) => void }): JSX.Element {
  return (
    <section className="panel table-scroll" aria-label="Limits">
      <table>
        <TableHead columns={['Name', 'State', 'Starts over', 'Used', numeric('Left'), 'Next start']} hasActions />
        <tbody>
          {limits.map((limit) => (
            <tr key={limit.id}>
              <th scope="row" className="name-cell">
                <Link
                  to="/spend"
                  search={limit.kind === 'key' ? { api_key_hash: limit.target } : { workspace_id: limit.target }}
                  title="Its spending"
                >
                  {limit.name}
                </Link>
                <div className="soft">{limit.kind}</div>
              </th>
              <td>
                <LimitState limit={limit} />
              </td>
              <td>{limit.interval === null ? 'never' : intervalWords[limit.interval]}</td>
              <td>
                <LimitBar limit={limit} hasName={false} />
              </td>
              <td className="number">
                <Money amount={toNano(Math.max(0, limit.limit - limit.used).toFixed(9))} />
              </td>
              <td>{limit.resetsAt === null ? <Absent /> : formatTime(limit.resetsAt).replace(/:\d\d$/, '')}</td>
              <td className="actions">
                <MenuButton
                  label={<Icon name="more" />}
                  name={`Actions for ${limit.name}`}
                  title={limit.name}
                  className="button quiet icon-only"
                  choices={[
                    { id: 'change', label: 'Change…' },
                    ...(limit.kind === 'workspace' ? [{ id: 'remove', label: 'Remove…' }] : []),
                  ]}
                  onAction={(id) =>
                    onOpen({ kind: id === 'remove' ? 'remove' : limit.kind === 'key' ? 'key' : 'set', limit })
                  }
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function LimitState({ limit }: { limit: Limit }): JSX.Element {
  const share = usedShare(limit);
  if (share >= 1) return <Status tone="bad">used up</Status>;
  return share >= 0.8 ? <Status tone="warn">{formatShare(share, 1)} used</Status> : <Status tone="good">within</Status>;
}
