import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { keysQuery } from '../api/queries.ts';
import type { Key } from '../api/types.ts';
import { LimitBar } from '../budgets/limit-bar.tsx';
import { formatCount } from '../logic/numbers.ts';
import { formatDay } from '../logic/time.ts';
import { useNames } from '../requests/use-names.ts';
import { Icon } from '../ui/icon.tsx';
import { MenuButton } from '../ui/menu.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Status } from '../ui/status.tsx';
import { Absent, Money } from '../ui/values.tsx';
import { writeRates } from '../ui/rate-fields.tsx';
import { RotateKey, ShowKey, StopKey } from './key-dialogs.tsx';
import { KeyForm } from './key-form.tsx';
import { numeric, TableHead } from '../ui/table-head.tsx';

const route = getRouteApi('/keys');
type Open =
  | { kind: 'create' }
  | { kind: 'show'; text: string }
  | { kind: 'change' | 'rotate' | 'disable' | 'enable' | 'delete'; edited: Key };

/** Rows that are shown. A search finds the others. */
const MAX_ROWS = 300;

/** The keys, their limits and what they spend. */
export function KeysPage(): JSX.Element {
  const { search = '' } = route.useSearch();
  const navigate = useNavigate();
  const result = useQuery(keysQuery);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const wanted = search.toLowerCase();
  return (
    <Page
      title="Keys"
      actions={
        <button type="button" className="button primary spread" onClick={() => setOpen({ kind: 'create' })}>
          <Icon name="plus" /> Create a key
        </button>
      }
    >
      <div className="toolbar">
        <div className="search">
          <Icon name="search" />
          <input
            className="input"
            data-search
            aria-label="Search keys"
            placeholder="Name or hash"
            value={search}
            onChange={({ target }) =>
              void navigate({ to: '/keys', search: target.value === '' ? {} : { search: target.value }, replace: true })
            }
          />
          <kbd>/</kbd>
        </div>
      </div>
      <Loaded result={result}>
        {(keys) => {
          const found = keys.filter(({ name, label, hash }) =>
            [name, label, hash].some((text) => text.toLowerCase().includes(wanted)),
          );
          if (found.length === 0) {
            return (
              <Empty icon="keys" title={keys.length === 0 ? 'There are no keys yet' : 'No key has this name'}>
                <p>Each application gets its own key, so that its requests and its spending can be told apart.</p>
              </Empty>
            );
          }
          return <KeyTable keys={found} onOpen={setOpen} />;
        }}
      </Loaded>
      {open?.kind === 'create' && (
        <KeyForm onClose={close} onCreated={({ key }) => setOpen({ kind: 'show', text: key })} />
      )}
      {open?.kind === 'change' && <KeyForm edited={open.edited} onClose={close} onCreated={close} />}
      {open?.kind === 'show' && <ShowKey text={open.text} onClose={close} />}
      {open?.kind === 'rotate' && (
        <RotateKey edited={open.edited} onClose={close} onCreated={(text) => setOpen({ kind: 'show', text })} />
      )}
      {(open?.kind === 'disable' || open?.kind === 'enable' || open?.kind === 'delete') && (
        <StopKey edited={open.edited} action={open.kind} onClose={close} />
      )}
    </Page>
  );
}

function KeyTable({ keys, onOpen }: { keys: readonly Key[]; onOpen: (open: Open) => void }): JSX.Element {
  const names = useNames();
  return (
    <section className="panel table-scroll" aria-label="Keys">
      <table>
        <TableHead
          columns={[
            'Name',
            'State',
            'Workspace',
            numeric('This month'),
            numeric('In total'),
            'Limit',
            'Rates',
            'Expires',
          ]}
          hasActions
        />
        <tbody>
          {keys.slice(0, MAX_ROWS).map((key) => (
            <tr key={key.hash}>
              <th scope="row" className="name-cell">
                <Link to="/requests" search={{ api_key_hash: key.hash }} title="Its requests">
                  {key.name || key.label}
                </Link>
                <div className="soft mono">{key.hash.slice(0, 12)}</div>
              </th>
              <td>
                <KeyState edited={key} />
              </td>
              <td>{names.workspace(key.workspace_id)}</td>
              <td className="number">
                <Money amount={key.usage_monthly} />
              </td>
              <td className="number">
                <Link to="/spend" search={{ api_key_hash: key.hash }}>
                  <Money amount={key.usage} />
                </Link>
              </td>
              <td>
                {key.limit === null ? (
                  <Absent />
                ) : (
                  <LimitBar
                    hasName={false}
                    limit={{
                      id: key.hash,
                      name: key.name,
                      kind: 'key',
                      target: key.hash,
                      interval: key.limit_reset,
                      limit: key.limit,
                      used: key.limit - (key.limit_remaining ?? key.limit),
                      resetsAt: null,
                    }}
                  />
                )}
              </td>
              <td>{writeRates(key) ?? <Absent />}</td>
              <td>{key.expires_at === null ? <Absent /> : formatDay(key.expires_at)}</td>
              <td className="actions">
                <MenuButton
                  label={<Icon name="more" />}
                  name={`Actions for ${key.name || key.label}`}
                  title={key.name || key.label}
                  className="button quiet icon-only"
                  choices={[
                    { id: 'change', label: 'Change…' },
                    { id: 'rotate', label: 'Rotate…' },
                    key.disabled ? { id: 'enable', label: 'Enable…' } : { id: 'disable', label: 'Disable…' },
                    { id: 'delete', label: 'Delete…' },
                  ]}
                  onAction={(id) => onOpen({ kind: id as 'change', edited: key })}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {keys.length > MAX_ROWS && (
        <p className="list-end">
          {formatCount(MAX_ROWS)} of {formatCount(keys.length)} keys are shown. Search for another one.
        </p>
      )}
    </section>
  );
}

function KeyState({ edited }: { edited: Key }): JSX.Element {
  if (edited.disabled) return <Status tone="soft">disabled</Status>;
  if (edited.expires_at !== null && Date.parse(edited.expires_at) < Date.now())
    return <Status tone="soft">expired</Status>;
  if (edited.limit !== null && (edited.limit_remaining ?? 0) <= 0) return <Status tone="bad">limit reached</Status>;
  return <Status tone="good">active</Status>;
}
