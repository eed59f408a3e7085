import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type JSX, useState } from 'react';
import { call } from '../api/client.ts';
import type { Workspace } from '../api/types.ts';
import { writeCli } from '../logic/commands.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Loaded } from '../ui/states.tsx';
import { Teach } from '../ui/teach.tsx';

/** The members of a workspace. */
export function WorkspaceMembers({ edited, onClose }: { edited: Workspace; onClose: () => void }): JSX.Element {
  const { id } = edited;
  const client = useQueryClient();
  const [added, setAdded] = useState('');
  const ids = added.split(/[\s,]+/).filter(Boolean);
  const result = useQuery({
    queryKey: ['workspace-members', id],
    queryFn: ({ signal }) =>
      call('get', '/api/v1/workspaces/{id}/members', { params: { id }, query: { limit: 100 }, signal }),
  });
  const remove = useMutation({
    mutationFn: (user: string) =>
      call('post', '/api/v1/workspaces/{id}/members/remove', { params: { id }, body: { user_ids: [user] } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['workspace-members', id] }),
  });
  return (
    <FormDialog
      title={`Members of ${edited.name}`}
      action="Add"
      onClose={onClose}
      onSubmit={() => call('post', '/api/v1/workspaces/{id}/members/add', { params: { id }, body: { user_ids: ids } })}
      onDone={() => setAdded('')}
    >
      <Loaded result={result}>
        {({ data, total_count }) => (
          <>
            {data.length === 0 && <p className="soft">The workspace has no members.</p>}
            <ul style={{ display: 'grid', gap: 6 }}>
              {data.map(({ user_id }) => (
                <li key={user_id} className="row">
                  <span className="wrap">{user_id}</span>
                  <button
                    type="button"
                    className="button small spread"
                    aria-label={`Remove ${user_id}`}
                    disabled={remove.isPending}
                    onClick={() => remove.mutate(user_id)}
                  >
                    Remove
                  </button>
                </li>
              ))}
            </ul>
            {total_count > data.length && <p className="soft">{total_count - data.length} more are not shown.</p>}
          </>
        )}
      </Loaded>
      {remove.error !== null && (
        <p className="notice bad" role="alert">
          {remove.error.message}
        </p>
      )}
      <Field
        label="Add members"
        value={added}
        onChange={setAdded}
        isRequired
        placeholder="ada, ben"
        help="Their ids, with commas between them. An unknown id creates a member."
      />
      <Teach
        method="POST"
        path={`/api/v1/workspaces/${id}/members/add`}
        body={{ user_ids: ids }}
        cli={writeCli(['workspaces', 'members', 'add', edited.slug, ...ids])}
      />
    </FormDialog>
  );
}
