import type { ReactNode } from 'react';
import { type Generation, tagsOf } from '../api/types.ts';
import { formatCount, formatDuration } from '../logic/numbers.ts';
import { Outcome } from '../ui/status.tsx';
import { Absent, Money, Time } from '../ui/values.tsx';
import type { Names } from './use-names.ts';

export interface Column {
  id: string;
  label: string;
  /** Width in pixels. Columns grow together on a wide screen. */
  width: number;
  isNumber?: true;
  isForAdmins?: true;
  cell: (entry: Generation, names: Names) => ReactNode;
  /** The value in a CSV file. */
  value: (entry: Generation, names: Names) => string | number | boolean | null | undefined;
}

const count = (value: number | null) => (value === null ? <Absent /> : formatCount(value));
const text = (value: string | null | undefined) => (value ? <span title={value}>{value}</span> : <Absent />);
const duration = (value: number | null) => (value === null ? <Absent /> : formatDuration(value));
const writeTags = (entry: Generation) =>
  tagsOf(entry)
    .map(([name, value]) => `${name}:${value}`)
    .join(', ');

/** All columns of the list, in their order. */
export const columns: readonly Column[] = [
  { id: 'time', label: 'Time', width: 132, cell: (e) => <Time at={e.created_at} />, value: (e) => e.created_at },
  { id: 'status', label: 'Status', width: 118, cell: (e) => <Outcome entry={e} />, value: (e) => e.status },
  {
    id: 'model',
    label: 'Model',
    width: 146,
    cell: (e) => text(e.model ?? e.requested_model),
    value: (e) => e.model ?? e.requested_model,
  },
  {
    id: 'provider',
    label: 'Provider',
    width: 86,
    cell: (e) => text(e.provider_name),
    value: (e) => e.provider_name,
  },
  {
    id: 'attempts',
    label: 'Attempts',
    width: 82,
    isNumber: true,
    cell: (e) => (e.attempts.length > 1 ? <strong className="warn">{e.attempts.length}</strong> : e.attempts.length),
    value: (e) => e.attempts.length,
  },
  {
    id: 'key',
    label: 'Key',
    width: 106,
    isForAdmins: true,
    cell: (e, names) => text(names.key(e.api_key_hash)),
    value: (e, names) => names.key(e.api_key_hash),
  },
  {
    id: 'member',
    label: 'Member',
    width: 120,
    isForAdmins: true,
    cell: (e) => text(e.user_id),
    value: (e) => e.user_id,
  },
  {
    id: 'workspace',
    label: 'Workspace',
    width: 130,
    isForAdmins: true,
    cell: (e, names) => text(names.workspace(e.workspace_id)),
    value: (e, names) => names.workspace(e.workspace_id),
  },
  {
    id: 'input',
    label: 'Input',
    width: 66,
    isNumber: true,
    cell: (e) => count(e.native_tokens_prompt),
    value: (e) => e.native_tokens_prompt,
  },
  {
    id: 'output',
    label: 'Output',
    width: 66,
    isNumber: true,
    cell: (e) => count(e.native_tokens_completion),
    value: (e) => e.native_tokens_completion,
  },
  {
    id: 'cached',
    label: 'Cached',
    width: 78,
    isNumber: true,
    cell: (e) => count(e.native_tokens_cached),
    value: (e) => e.native_tokens_cached,
  },
  {
    id: 'cost',
    label: 'Cost',
    width: 118,
    isNumber: true,
    cell: (e) => <Money amount={e.total_cost} />,
    value: (e) => e.total_cost,
  },
  {
    id: 'first',
    label: 'First output',
    width: 104,
    isNumber: true,
    cell: (e) => duration(e.latency),
    value: (e) => e.latency,
  },
  {
    id: 'duration',
    label: 'Duration',
    width: 82,
    isNumber: true,
    cell: (e) => duration(e.generation_time),
    value: (e) => e.generation_time,
  },
  { id: 'error', label: 'Error', width: 180, cell: (e) => text(e.error_type), value: (e) => e.error_type },
  { id: 'tags', label: 'Tags', width: 180, cell: (e) => text(writeTags(e)), value: (e) => writeTags(e) },
  { id: 'session', label: 'Session', width: 160, cell: (e) => text(e.session_id), value: (e) => e.session_id },
  { id: 'api', label: 'API', width: 110, cell: (e) => text(e.api_type), value: (e) => e.api_type },
  { id: 'id', label: 'Id', width: 250, cell: (e) => <span className="mono">{e.id}</span>, value: (e) => e.id },
];

const byDefault = ['time', 'status', 'model', 'provider', 'attempts', 'key', 'input', 'output', 'cost', 'duration'];
/** On a narrow screen, rows have what identifies a request. The others are a tap away. */
const onNarrow = ['time', 'status', 'model', 'cost'];
/** The shares of their widths: a cost has all its digits. */
const narrowWidths: Partial<Record<string, number>> = { time: 78, status: 86, model: 82, cost: 110 };

/** @returns the columns of a list in the URL, or those by default */
export function chosenColumns(
  chosen: string | undefined,
  { isAdmin, isNarrow }: { isAdmin: boolean; isNarrow: boolean },
) {
  const ids = new Set(chosen?.split(',') ?? (isNarrow ? onNarrow : byDefault));
  const found = columns.filter(({ id, isForAdmins }) => ids.has(id) && (isAdmin || !isForAdmins));
  const shown = found.length > 0 ? found : columns.filter(({ id }) => onNarrow.includes(id));
  if (!isNarrow || shown.length > onNarrow.length) return shown;
  return shown.map((column) => ({ ...column, width: narrowWidths[column.id] ?? column.width }));
}
