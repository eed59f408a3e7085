import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type JSX, useState } from 'react';
import { call } from '../api/client.ts';
import { membersQuery } from '../api/queries.ts';
import type { Member } from '../api/types.ts';
import { writeCli } from '../logic/commands.ts';
import { formatDay } from '../logic/time.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Page } from '../ui/page.tsx';
import { draftRates, RateFields, rateOptions, readRates, writeRates } from '../ui/rate-fields.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Teach } from '../ui/teach.tsx';
import { Absent } from '../ui/values.tsx';
import { TableHead } from '../ui/table-head.tsx';

/** The members, and their limits. */
export function MembersPage(): JSX.Element {
  const result = useQuery(membersQuery);
  const [edited, setEdited] = useState<Member>();
  return (
    <Page
      title="Members"
      about="A member owns keys. Add one to a workspace on the page Workspaces; a new id creates the member."
    >
      <Loaded result={result}>
        {(members) =>
          members.length === 0 ? (
            <Empty icon="members" title="There are no members yet">
              <p>
                Add one to a <Link to="/workspaces">workspace</Link>. Keys can then belong to a person instead of the
                organization.
              </p>
            </Empty>
          ) : (
            <section className="panel table-scroll" aria-label="Members">
              <table>
                <TableHead columns={['Member', 'Rates', 'Since']} hasActions />
                <tbody>
                  {members.map((member) => (
                    <tr key={member.id}>
                      <th scope="row">{member.id}</th>
                      <td>{writeRates(member) ?? <Absent />}</td>
                      <td>{formatDay(member.created_at)}</td>
                      <td className="actions">
                        <span className="row" style={{ flexWrap: 'nowrap', justifyContent: 'end' }}>
                          <Link to="/requests" search={{ user_id: member.id }} className="button small quiet">
                            Requests
                          </Link>
                          <Link to="/spend" search={{ user_id: member.id }} className="button small quiet">
                            Spend
                          </Link>
                          <button type="button" className="button small" onClick={() => setEdited(member)}>
                            Limits
                          </button>
                        </span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )
        }
      </Loaded>
      {edited !== undefined && <MemberForm edited={edited} onClose={() => setEdited(undefined)} />}
    </Page>
  );
}

function MemberForm({ edited, onClose }: { edited: Member; onClose: () => void }): JSX.Element {
  const [rates, setRates] = useState(draftRates(edited));
  const body = readRates(rates);
  return (
    <FormDialog
      title={`Limits of ${edited.id}`}
      action="Save"
      onClose={onClose}
      onSubmit={() => call('patch', '/api/v1/members/{id}', { params: { id: edited.id }, body })}
    >
      <p className="soft">They apply to all keys of the member together.</p>
      <RateFields draft={rates} onChange={setRates} />
      <Teach
        method="PATCH"
        path={`/api/v1/members/${encodeURIComponent(edited.id)}`}
        body={body}
        cli={writeCli(['members', 'update', edited.id], rateOptions(body, true))}
      />
    </FormDialog>
  );
}
