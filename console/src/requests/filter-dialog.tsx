import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type JSX, useId } from 'react';
import { keysQuery, membersQuery, modelsQuery, providersQuery, workspacesQuery } from '../api/queries.ts';
import { Dialog } from '../ui/dialog.tsx';
import { allFilters, type RequestSearch } from './filters.ts';

interface Props {
  search: RequestSearch;
  isAdmin: boolean;
  onClose: () => void;
  onApply: (part: RequestSearch) => void;
}

type Option = readonly [value: string, label: string];
const yesNo: Option[] = [
  ['true', 'yes'],
  ['false', 'no'],
];

/** Sets all filters of the list at once. */
export function FilterDialog({ search, isAdmin, onClose, onApply }: Props): JSX.Element {
  const enabled = isAdmin;
  const keys = useQuery({ ...keysQuery, enabled }).data;
  const members = useQuery({ ...membersQuery, enabled }).data;
  const workspaces = useQuery({ ...workspacesQuery, enabled }).data;
  const models = useQuery(modelsQuery).data;
  const providers = useQuery(providersQuery).data;

  const options: Partial<Record<string, Option[] | undefined>> = {
    'yes-no': yesNo,
    key: keys?.map(({ hash, name, label }) => [hash, name || label] as const),
    member: members?.map(({ id }) => [id, id] as const),
    workspace: workspaces?.map(({ id, name }) => [id, name] as const),
  };
  const suggestions: Partial<Record<string, string[] | undefined>> = {
    model: models?.data.map(({ id }) => id),
    provider: providers?.data.map(({ name }) => name),
  };

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const values = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()] as const);
    const part = Object.fromEntries(values) as RequestSearch;
    const times = (['since', 'until'] as const).map((name) => [
      name,
      part[name] ? new Date(part[name]).toISOString() : '',
    ]);
    const hasTimes = times.some(([, value]) => value !== '');
    onApply({ ...part, ...Object.fromEntries(times), ...(hasTimes ? { range: '' } : {}) });
  }

  return (
    <Dialog title="Filters" isWide onClose={onClose}>
      <form onSubmit={onSubmit}>
        <div className="dialog-body">
          <div className="fields">
            {allFilters
              .filter(({ isForAdmins }) => isAdmin || isForAdmins !== true)
              .map(({ name, label, kind, choices, example }) => (
                <FilterField
                  key={name}
                  name={name}
                  label={label}
                  value={search[name] ?? ''}
                  options={choices?.map((choice) => [choice, choice] as const) ?? options[kind]}
                  suggestions={suggestions[kind]}
                  example={example}
                  pattern={
                    kind === 'money'
                      ? String.raw`\d{1,9}(\.\d{1,9})?`
                      : kind === 'ms'
                        ? String.raw`\d{1,12}`
                        : undefined
                  }
                  unit={kind === 'money' ? 'USD' : kind === 'ms' ? 'ms' : undefined}
                />
              ))}
            <TimeField name="since" label="From" value={search.since} />
            <TimeField name="until" label="To" value={search.until} />
          </div>
        </div>
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary">
            Apply
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function FilterField({
  name,
  label,
  value,
  options,
  suggestions,
  example,
  pattern,
  unit,
}: {
  name: string;
  label: string;
  value: string;
  options: readonly Option[] | undefined;
  suggestions: readonly string[] | undefined;
  example: string | undefined;
  pattern: string | undefined;
  unit: string | undefined;
}): JSX.Element {
  const list = useId();
  if (options !== undefined) {
    const known =
      options.some(([option]) => option === value) || value === '' ? options : [[value, value] as const, ...options];
    return (
      <label className="field">
        {label}
        <select className="select" name={name} defaultValue={value} key={known.length}>
          <option value="">any</option>
          {known.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <label className="field">
      {unit === undefined ? label : `${label} (${unit})`}
      <input
        className="input"
        name={name}
        defaultValue={value}
        placeholder={example}
        pattern={pattern}
        title={pattern === undefined ? undefined : `A number of ${unit}, such as ${example}`}
        autoComplete="off"
        spellCheck={false}
        list={suggestions === undefined ? undefined : list}
      />
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** A local time. The URL and the API have UTC. */
function TimeField({ name, label, value }: { name: string; label: string; value: string | undefined }): JSX.Element {
  const date = value === undefined ? undefined : new Date(value);
  const local =
    date === undefined || Number.isNaN(date.getTime())
      ? ''
      : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <label className="field">
      {label} (your time)
      <input className="input" type="datetime-local" name={name} defaultValue={local} />
    </label>
  );
}
