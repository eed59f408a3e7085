import type { JSX } from 'react';
import { localDate, viewerZone } from '../logic/time.ts';
import { useNames } from '../requests/use-names.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { Icon } from '../ui/icon.tsx';
import {
  canonicalZone,
  dimensions,
  FIRST_DATE,
  measures,
  possibleIntervals,
  rangeLabels,
  type SpendSearch,
  type SpendView,
} from './spend-search.ts';

const intervalLabels = { hour: 'Hours', day: 'Days', week: 'Weeks', month: 'Months' };
const filterLabels = {
  model: 'Model',
  provider: 'Provider',
  api_key_hash: 'Key',
  user_id: 'Member',
  workspace_id: 'Workspace',
  tag: 'Tag',
};

/** The range, the interval, the dimension and the filters of a report. */
export function SpendControls({
  view,
  onChange,
}: {
  view: SpendView;
  onChange: (part: SpendSearch) => void;
}): JSX.Element {
  const isAdmin = useIsAdmin();
  const names = useNames();
  const { range, since, until, interval, by, measure, zone, filters } = view;
  const show = { api_key_hash: names.key, workspace_id: names.workspace } as Partial<
    Record<string, (value: string) => string>
  >;
  return (
    <>
      <div className="toolbar">
        <select
          className="select"
          aria-label="Time range"
          value={range}
          onChange={({ target }) =>
            onChange(
              target.value === 'own'
                ? { range: '', interval: '', since, until }
                : { range: target.value, interval: '', since: '', until: '' },
            )
          }
        >
          {Object.entries(rangeLabels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        {range === 'own' && <Dates view={view} onChange={onChange} />}
        <select
          className="select"
          aria-label="Interval"
          value={interval}
          onChange={({ target }) => onChange({ interval: target.value })}
        >
          {possibleIntervals(view).map((value) => (
            <option key={value} value={value}>
              {intervalLabels[value]}
            </option>
          ))}
        </select>
        <select
          className="select"
          aria-label="Group by"
          value={by}
          onChange={({ target }) => onChange({ by: target.value })}
        >
          {Object.entries(dimensions)
            .filter(([, { isForAdmins }]) => isAdmin || !isForAdmins)
            .map(([value, { label }]) => (
              <option key={value} value={value}>
                By {label.toLowerCase()}
              </option>
            ))}
          {by.startsWith('tag:') && <option value={by}>By tag {by.slice(4)}</option>}
        </select>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const key = String(new FormData(event.currentTarget).get('tag')).trim();
            if (key !== '') onChange({ by: `tag:${key}` });
          }}
        >
          <input
            className="input"
            name="tag"
            aria-label="Group by a tag"
            placeholder="By tag: team"
            pattern="[A-Za-z][A-Za-z0-9_.\-]{0,39}"
            title="The key of a tag, such as team"
            data-search
          />
        </form>
        <fieldset className="segments" aria-label="Measure">
          {Object.entries(measures).map(([value, label]) => (
            <button
              key={value}
              type="button"
              aria-pressed={measure === value}
              onClick={() => onChange({ measure: value === 'cost' ? '' : value })}
            >
              {label}
            </button>
          ))}
        </fieldset>
        <ZoneChoice zone={zone} onChange={onChange} />
      </div>
      {Object.keys(filters).length > 0 && (
        <ul className="row" aria-label="Filters that are set">
          {Object.entries(filters).map(([name, value]) => {
            const label = filterLabels[name as keyof typeof filterLabels];
            return (
              <li key={name} className="chip">
                <span title={value}>
                  {label}: <strong>{show[name]?.(value) ?? value}</strong>
                </span>
                <button
                  type="button"
                  aria-label={`Remove the filter ${label}`}
                  onClick={() => onChange({ [name]: '' })}
                >
                  <Icon name="close" size={14} />
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </>
  );
}

/** The first and the last date of a report. A date counts as soon as it is complete. */
function Dates({ view, onChange }: { view: SpendView; onChange: (part: SpendSearch) => void }): JSX.Element {
  const today = localDate(Date.now(), view.zone);
  return (
    <>
      {(['since', 'until'] as const).map((name) => (
        <input
          key={`${name} ${view[name]}`}
          className="input date"
          type="date"
          aria-label={name === 'since' ? 'First day' : 'Last day'}
          defaultValue={view[name]}
          min={FIRST_DATE}
          max={today}
          onChange={({ target }) => {
            if (target.value === '' || !target.validity.valid) return;
            const dates = { since: view.since, until: view.until, [name]: target.value };
            if (dates.since > dates.until) dates[name === 'since' ? 'until' : 'since'] = target.value;
            onChange({ ...dates, interval: '' });
          }}
        />
      ))}
    </>
  );
}

/** The zone of the browser, UTC, and all others that the browser knows. */
function ZoneChoice({ zone, onChange }: { zone: string; onChange: (part: SpendSearch) => void }): JSX.Element {
  const own = canonicalZone(viewerZone()) ?? 'UTC';
  const first = new Set([own, 'UTC']);
  const others = new Set([...Intl.supportedValuesOf('timeZone'), zone]);
  return (
    <select
      className="select zone"
      aria-label="Time zone"
      value={zone}
      onChange={({ target }) => onChange({ zone: target.value === own ? '' : target.value })}
    >
      {[...first].map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
      <optgroup label="Other zones">
        {[...others]
          .filter((each) => !first.has(each))
          .sort()
          .map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
      </optgroup>
    </select>
  );
}
