import { useQuery } from '@tanstack/react-query';
import { type JSX, useState } from 'react';
import { call, type Ok } from '../api/client.ts';
import { membersQuery, workspacesQuery } from '../api/queries.ts';
import type { Key } from '../api/types.ts';
import { writeCli } from '../logic/commands.ts';
import { Choice, Field, readNumber, usdPattern } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { draftRates, RateFields, rateOptions, readRates } from '../ui/rate-fields.tsx';
import { Teach } from '../ui/teach.tsx';

export type CreatedKey = Ok<'/api/v1/keys', 'post'>;

const resets = [
  ['', 'never'],
  ['daily', 'each day (UTC)'],
  ['weekly', 'each week (UTC)'],
  ['monthly', 'each month (UTC)'],
] as const;

/** Creates a key, or changes one. */
export function KeyForm({
  edited,
  onCreated,
  onClose,
}: {
  /** The key that is changed. Absent: a new one. */
  edited?: Key;
  onCreated: (created: CreatedKey) => void;
  onClose: () => void;
}): JSX.Element {
  const workspaces = useQuery(workspacesQuery).data ?? [];
  const members = useQuery(membersQuery).data ?? [];
  const [name, setName] = useState(edited?.name ?? '');
  const [workspace, setWorkspace] = useState('');
  const [member, setMember] = useState('');
  const [limit, setLimit] = useState(edited?.limit == null ? '' : String(edited.limit));
  const [reset, setReset] = useState<string>(edited?.limit_reset ?? '');
  const [byok, setByok] = useState(edited?.include_byok_in_limit ?? false);
  const [expires, setExpires] = useState('');
  const [rates, setRates] = useState(draftRates(edited));

  const limits = {
    limit: readNumber(limit),
    limit_reset: (reset || null) as Key['limit_reset'],
    include_byok_in_limit: byok,
    ...readRates(rates),
  };
  const expiresAt = expires === '' ? null : new Date(expires).toISOString();
  const created = {
    name,
    ...limits,
    ...(expiresAt === null ? {} : { expires_at: expiresAt }),
    ...(member === '' ? {} : { creator_user_id: member }),
    ...(workspace === '' ? {} : { workspace_id: workspace }),
  };
  const isNew = edited === undefined;
  const cliLimits = {
    limit: limits.limit ?? (isNew ? undefined : null),
    'limit-reset': reset || (isNew ? undefined : 'never'),
    'include-byok': byok,
    ...rateOptions(readRates(rates), !isNew),
  };
  return (
    <FormDialog
      title={isNew ? 'Create a key' : `Change ${edited.name || edited.label}`}
      action={isNew ? 'Create key' : 'Save'}
      onClose={onClose}
      onSubmit={async () => {
        if (isNew) return call('post', '/api/v1/keys', { body: created });
        await call('patch', '/api/v1/keys/{hash}', { params: { hash: edited.hash }, body: { name, ...limits } });
        return undefined;
      }}
      onDone={(result) => (result === undefined ? onClose() : onCreated(result))}
    >
      <Field
        label="Name"
        value={name}
        onChange={setName}
        isRequired
        placeholder="search-service"
        help="What uses the key."
      />
      {isNew && (
        <div className="fields">
          <Choice
            label="Workspace"
            value={workspace}
            onChange={setWorkspace}
            options={[['', 'the default one'], ...workspaces.map(({ id, name: text }) => [id, text] as const)]}
          />
          <Choice
            label="Owner"
            value={member}
            onChange={setMember}
            options={[['', 'the organization'], ...members.map(({ id }) => [id, id] as const)]}
          />
          <Field label="Expires (your time)" type="datetime-local" value={expires} onChange={setExpires} />
        </div>
      )}
      <div className="fields">
        <Field
          label="Spending limit (USD)"
          value={limit}
          onChange={setLimit}
          pattern={usdPattern}
          hint="An amount such as 20 or 0.50"
          placeholder="no limit"
        />
        <Choice label="The limit starts over" value={reset} onChange={setReset} options={resets} />
      </div>
      <label className="check">
        <input type="checkbox" checked={byok} onChange={({ target }) => setByok(target.checked)} />
        Costs with own provider keys count, too
      </label>
      <RateFields draft={rates} onChange={setRates} />
      <Teach
        method={isNew ? 'POST' : 'PATCH'}
        path={isNew ? '/api/v1/keys' : `/api/v1/keys/${edited.hash}`}
        body={isNew ? created : { name, ...limits }}
        cli={writeCli(isNew ? ['keys', 'create'] : ['keys', 'update', edited.hash.slice(0, 12)], {
          name,
          ...(isNew
            ? {
                workspace: workspaces.find(({ id }) => id === workspace)?.slug,
                member,
                expires: expiresAt ?? undefined,
              }
            : {}),
          ...cliLimits,
        })}
      />
    </FormDialog>
  );
}
