import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { workspacesQuery } from '../api/queries.ts';
import type { Workspace } from '../api/types.ts';
import { Icon } from '../ui/icon.tsx';
import { Page } from '../ui/page.tsx';
import { writeRates } from '../ui/rate-fields.tsx';
import { Loaded } from '../ui/states.tsx';
import { Absent } from '../ui/values.tsx';
import { WorkspaceForm } from './workspace-form.tsx';
import { WorkspaceMembers } from './workspace-members.tsx';
import { TableHead } from '../ui/table-head.tsx';

type Open = { kind: 'create' } | { kind: 'change' | 'members'; edited: Workspace };

/** The workspaces with their defaults. */
export function WorkspacesPage(): JSX.Element {
  const result = useQuery(workspacesQuery);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <Page
      title="Workspaces"
      about="A workspace separates keys, files, budgets and guardrails. Its inference keys see only what belongs to it."
      actions={
        <button type="button" className="button primary spread" onClick={() => setOpen({ kind: 'create' })}>
          <Icon name="plus" /> Create a workspace
        </button>
      }
    >
      <Loaded result={result}>
        {(workspaces) => (
          <section className="panel table-scroll" aria-label="Workspaces">
            <table>
              <TableHead columns={['Workspace', 'Default model', 'Inputs and outputs', 'Rates']} hasActions />
              <tbody>
                {workspaces.map((workspace) => (
                  <tr key={workspace.id}>
                    <th scope="row" className="name-cell">
                      {workspace.name}
                      <div className="soft mono">{workspace.slug}</div>
                    </th>
                    <td>{workspace.default_text_model ?? <Absent />}</td>
                    <td>{workspace.is_observability_io_logging_enabled ? 'kept' : 'not kept'}</td>
                    <td>{writeRates(workspace) ?? <Absent />}</td>
                    <td className="actions">
                      <span className="row" style={{ flexWrap: 'nowrap', justifyContent: 'end' }}>
                        <Link to="/requests" search={{ workspace_id: workspace.id }} className="button small quiet">
                          Requests
                        </Link>
                        <Link to="/spend" search={{ workspace_id: workspace.id }} className="button small quiet">
                          Spend
                        </Link>
                        <button
                          type="button"
                          className="button small"
                          onClick={() => setOpen({ kind: 'members', edited: workspace })}
                        >
                          Members
                        </button>
                        <button
                          type="button"
                          className="button small"
                          onClick={() => setOpen({ kind: 'change', edited: workspace })}
                        >
                          Change
                        </button>
                      </span>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </Loaded>
      {open?.kind === 'create' && <WorkspaceForm onClose={close} />}
      {open?.kind === 'change' && <WorkspaceForm edited={open.edited} onClose={close} />}
      {open?.kind === 'members' && <WorkspaceMembers edited={open.edited} onClose={close} />}
    </Page>
  );
}
