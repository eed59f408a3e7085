import { Link } from '@tanstack/react-router';
import type { JSX, ReactNode } from 'react';
import { type Generation, tagsOf } from '../api/types.ts';
import type { RequestSearch } from '../requests/filters.ts';
import type { Names } from '../requests/use-names.ts';

/** Where a request came from and where it went. A value that a filter can have leads to the requests with it. */
export function Facts({ entry, names, time }: { entry: Generation; names: Names; time: string }): JSX.Element {
  const facts: [string, ReactNode][] = [
    ['Time', time],
    ['Key', link({ api_key_hash: entry.api_key_hash ?? '' }, names.key(entry.api_key_hash))],
    ['Member', link({ user_id: entry.user_id ?? '' }, entry.user_id)],
    ['Workspace', link({ workspace_id: entry.workspace_id }, names.workspace(entry.workspace_id))],
    ['Session', link({ session_id: entry.session_id ?? '' }, entry.session_id)],
    ['End user', link({ external_user: entry.external_user ?? '' }, entry.external_user)],
    [
      'Tags',
      tagsOf(entry).map(([name, value]) => (
        <span key={name}>{link({ tag: `${name}:${value}` }, `${name}:${value}`)} </span>
      )),
    ],
    ['Requested model', link({ model: entry.requested_model ?? '' }, entry.requested_model)],
    ['Router', entry.router],
    ['API', entry.api_type],
    ['Streamed', entry.streamed ? 'yes' : 'no'],
    ['Finish reason', entry.native_finish_reason ?? entry.finish_reason],
    ['Service tier', entry.service_tier],
    ['Data region', entry.data_region],
    ['Web search engine', entry.web_search_engine],
    ['Client', entry.user_agent],
    ['Origin', entry.origin],
  ];
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== null && value !== '' && !(Array.isArray(value) && value.length === 0))
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A link to the requests with a value. Null: there is no value. */
function link(search: RequestSearch, text: string | null | undefined): ReactNode {
  if (!text) return null;
  return (
    <Link to="/requests" search={search} title={`Requests with ${text}`}>
      {text}
    </Link>
  );
}
