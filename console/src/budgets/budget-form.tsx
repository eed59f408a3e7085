import { useQuery } from '@tanstack/react-query';
import { type JSX, useState } from 'react';
import { call } from '../api/client.ts';
import { workspacesQuery } from '../api/queries.ts';
import { writeCli } from '../logic/commands.ts';
import { Choice, Field, usdPattern } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Teach } from '../ui/teach.tsx';
import type { Limit } from './limits.ts';

const intervals = [
  ['daily', 'each day'],
  ['weekly', 'each week'],
  ['monthly', 'each month'],
  ['lifetime', 'never'],
] as const;

/** Sets the budget of a workspace for an interval. */
export function BudgetForm({ edited, onClose }: { edited?: Limit | undefined; onClose: () => void }): JSX.Element {
  const workspaces = useQuery(workspacesQuery).data ?? [];
  const [chosen, setChosen] = useState(edited?.target);
  const [interval, setInterval] = useState<string>(edited === undefined ? 'monthly' : (edited.interval ?? 'lifetime'));
  const [limit, setLimit] = useState(edited === undefined ? '' : String(edited.limit));
  const id = chosen ?? workspaces[0]?.id ?? '';
  const slug = workspaces.find((each) => each.id === id)?.slug ?? id;
  const body = { limit_usd: Number(limit) };
  return (
    <FormDialog
      title={edited === undefined ? 'Set a budget' : `Change the budget of ${edited.name}`}
      action="Save"
      onClose={onClose}
      onSubmit={() => call('put', '/api/v1/workspaces/{id}/budgets/{interval}', { params: { id, interval }, body })}
    >
      {edited === undefined && (
        <div className="fields">
          <Choice
            label="Workspace"
            value={id}
            onChange={setChosen}
            options={workspaces.map(({ id: each, name }) => [each, name] as const)}
          />
          <Choice label="Starts over" value={interval} onChange={setInterval} options={intervals} />
        </div>
      )}
      <Field
        label="Limit (USD)"
        value={limit}
        onChange={setLimit}
        isRequired
        pattern={usdPattern}
        hint="An amount such as 300 or 0.50"
        placeholder="300"
        help="It replaces the limit that the workspace has for this interval."
      />
      <Teach
        method="PUT"
        path={`/api/v1/workspaces/${id}/budgets/${interval}`}
        body={body}
        cli={`${writeCli(['workspaces', 'budgets', slug])} --set ${interval}=${limit || '300'}`}
      />
    </FormDialog>
  );
}

export function RemoveBudget({ edited, onClose }: { edited: Limit; onClose: () => void }): JSX.Element {
  const id = edited.target!;
  const interval = edited.interval ?? 'lifetime';
  return (
    <FormDialog
      title={`Remove the budget of ${edited.name}`}
      action="Remove"
      isDanger
      onClose={onClose}
      onSubmit={async () => {
        await call('delete', '/api/v1/workspaces/{id}/budgets/{interval}', { params: { id, interval } });
      }}
    >
      <p>The workspace can then spend without this limit. Its other limits stay.</p>
      <Teach
        method="DELETE"
        path={`/api/v1/workspaces/${id}/budgets/${interval}`}
        cli={writeCli(['workspaces', 'budgets', 'delete', edited.name, interval])}
      />
    </FormDialog>
  );
}
