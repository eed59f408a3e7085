import { formatUsd } from '../../domain/format-usd.ts';
import { isObject } from '../../schema/by-kind.ts';
import { formatDay, formatDistance } from '../format-time.ts';
import { printObject } from '../print-object.ts';
import { type Column, drawTable } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import type { ResourceCommand } from './definition.ts';
import { resourceCommands } from './find-command.ts';

type Row = Record<string, unknown>;

export interface PrintOptions {
  isJson: boolean;
  /** How the user names the object. */
  label: string;
  status: number;
  /** Names of workspaces by their ids, for columns. */
  workspaces: ReadonlyMap<string, string>;
}

/** Fields of a response beside its data. */
const envelope = [
  ...[
    'warnings',
    'ignored_fields',
    'total_count',
    'has_more',
    'next_cursor',
    'cursor',
    'first_id',
    'last_id',
    'object',
  ],
];

/** Takes the data of a response out of its envelope, unless there is more beside it. */
export function unwrap(content: unknown): unknown {
  if (!isObject(content) || content['data'] === undefined) return content;
  return Object.keys(content).every((field) => field === 'data' || envelope.includes(field))
    ? content['data']
    : content;
}

/** Prints the data of a response on stdout, and on stderr a sentence about a change. */
export function printResult(
  terminal: Terminal,
  command: ResourceCommand,
  content: unknown,
  options: PrintOptions,
): void {
  const { stdout, stderr } = terminal;
  const data = unwrap(content);
  const rows = isObject(content) && Array.isArray(content['data']) ? (content['data'] as Row[]) : undefined;
  const sentence = describeChange(command, data, options);
  const { warnings = [], ignored_fields: ignored = [] } = (isObject(content) ? content : {}) as Record<
    string,
    string[]
  >;
  for (const warning of warnings) stderr.write(`headgate: ${warning} It is saved anyway.\n`);
  if (ignored.length > 0) stderr.write(`headgate: unknown fields were left out: ${ignored.join(', ')}\n`);
  if (options.isJson) stdout.write(data === undefined ? '' : `${JSON.stringify(data, undefined, 2)}\n`);
  else if (rows) printRows(terminal, command, rows, options);
  else if (isObject(data) && command.method !== 'DELETE' && !isAcknowledgment(data))
    printObject(terminal, flatten(data), {});
  if (rows?.length === 0 && !options.isJson) stderr.write(`${describeEmpty(command)}\n`);
  if (sentence !== undefined) stderr.write(`${sentence}\n`);
}

/** Puts the fields of `data` in front of those beside it. */
const flatten = ({ data, ...rest }: Row): Row =>
  isObject(data) ? { ...data, ...rest } : { ...(data !== undefined && { data }), ...rest };

/** The words for what a command did. */
const past: Record<string, string> = {
  create: 'Created',
  update: 'Changed',
  set: 'Saved',
  save: 'Saved',
  upload: 'Stored',
  disable: 'Disabled',
  pause: 'Paused',
  resume: 'Resumed',
};
/** The words of responses that only say that something was done. */
const acknowledged: Record<string, string> = {
  deleted: 'Deleted',
  deleting: 'Deleting',
  provisioning: 'Starting',
  suspended: 'Suspended',
};

const isAcknowledgment = (data: Row): boolean => Object.keys(data).every((field) => field in acknowledged);

function describeChange(
  { name, method }: ResourceCommand,
  data: unknown,
  { label, status }: PrintOptions,
): string | undefined {
  if (method === 'GET') return undefined;
  const object = isObject(data) ? data : {};
  const verb = name.split(' ').at(-1)!.split('-')[0]!;
  const [acknowledgment] = Object.keys(object).filter((field) => field in acknowledged);
  const isOld = verb === 'create' && status === 200;
  const word =
    method === 'DELETE'
      ? (acknowledged[acknowledgment ?? 'deleted'] ?? '')
      : (past[verb] ?? acknowledged[acknowledgment ?? '']);
  if (word === undefined) return undefined;
  const named = object['name'] ?? object['slug'] ?? object['filename'] ?? (verb === 'create' ? object['id'] : label);
  if (named === undefined) return undefined;
  if (named === '') return `${word} the ${name.split(' ').at(-2)!}.`; // there is one of it
  return `${isOld ? 'There already is' : word} the ${nameObject(name)} "${String(method === 'DELETE' ? label : named)}".`;
}

/** `workspaces budgets set` → `budget`. */
const nameObject = (name: string): string => {
  const noun = name.split(' ').at(-2)!.replace(/s$/, '');
  return noun === 'vault' ? 'secret' : noun;
};

/** Says that a list is empty, and which command fills it. */
function describeEmpty(command: ResourceCommand): string {
  const group = command.name.replace(/ (?:list|change)$/, '');
  const creators = ['create', 'upload', 'set', 'add'].map((verb) => `${group} ${verb}`);
  const creator = resourceCommands.find(({ name }) => creators.includes(name));
  return `There are no ${nameRows(command)}.${creator ? ` "headgate ${creator.name}" adds some.` : ''}`;
}

const nameRows = ({ name }: ResourceCommand): string => {
  const words = name.split(' ').filter((word) => word !== 'list' && word !== 'change');
  if (words[0] === 'vault') return 'secrets';
  return words
    .at(-1)!
    .replace(/^activity$/, 'requests')
    .replace(/^audit$/, 'changes');
};

function printRows(
  terminal: Terminal,
  { columns = [] }: ResourceCommand,
  rows: readonly Row[],
  options: PrintOptions,
): void {
  if (rows.length === 0) return;
  const shown = columns.filter(
    (column) => column.endsWith('*') || rows.some((row) => read(row, fieldOf(column)) !== undefined),
  );
  const named = shown.map((column) => {
    const [field, title = field] = column.split('=').reverse() as [string, string?];
    return { field, title: title.replaceAll('_', ' ').replace(/ at$/, '').toUpperCase() };
  });
  const cells = rows.map((row) =>
    named.map(({ field, title }) =>
      field === '*' ? writeSettings(row, columns) : writeCell(row, field, title, options),
    ),
  );
  const drawn = named.map(
    ({ field, title }): Column => ({
      title,
      isNumber: rows.every((row) => typeof read(row, field) === 'number') || isMoney(field),
      canWrap: !/(?:^|_)(?:id|hash|at|status)$|^(?:fingerprint|createdAt)$/.test(field),
    }),
  );
  terminal.stdout.write(drawTable(terminal, drawn, cells));
}

const fieldOf = (column: string): string => column.replace(/^.*=/, '');

const read = (row: Row, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), row);

const isMoney = (field: string): boolean => /_usd$|^usage$|^limit(?:_remaining)?$/.test(field);

/** Writes a value for a person: times as days, amounts in dollars, the beginning of hashes. */
function writeCell(row: Row, field: string, title: string, { workspaces }: PrintOptions): string {
  const value = read(row, field);
  if (value === null || value === undefined) return '-';
  if (field === 'workspace_id') return workspaces.get(String(value)) ?? String(value);
  if (isMoney(field) && typeof value === 'number') return formatUsd(value < 1 ? value : Math.floor(value * 100) / 100);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return field.endsWith('_at') ? formatDay(value * 1000) : String(value);
  if (typeof value !== 'string') return Array.isArray(value) ? value.map(String).join(' ') : JSON.stringify(value);
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) return escapeControls(value.replace(/[0-9a-f]{40,}/, (hash) => hash.slice(0, 12)));
  if (title === 'TIME') return value.slice(0, 19).replace('T', ' ');
  return time > Date.now() ? formatDistance(time, Date.now()) : formatDay(time);
}

/** Fields that are no settings. */
const identity = ['id', 'name', 'slug', 'description', 'workspace_id', 'created_at', 'updated_at'];

/** Writes the settings of an object that are not the default, by the names of their options. */
function writeSettings(row: Row, columns: readonly string[]): string {
  const settings = Object.entries(row).flatMap(([field, value]) => {
    const isDefault = value === null || (value === false && !field.startsWith('enable_')) || columns.includes(field);
    if (isDefault || identity.includes(field)) return [];
    const name = nameOption(field);
    if (value === true) return [name];
    if (isMoney(field)) return [`${name} ${formatUsd(Number(value))}`];
    return [`${name} ${[value].flat().map(writeSetting).join(' ')}`];
  });
  return settings.join('; ');
}

/** Returns the name of the option of a field, without dashes. */
function nameOption(field: string): string {
  const option = resourceCommands.flatMap(({ options }) => options).find((one) => one.field === field);
  return option ? option.flags.replace(/^--| .*$/g, '') : field.replaceAll('_', '-');
}

/** Writes a filter by its name, and other values unchanged. */
function writeSetting(value: unknown): string {
  if (!isObject(value)) return String(value);
  const { slug, label, action, apply_to: sides } = value;
  const places = Array.isArray(sides) && sides.includes('output') ? ` (${sides.join(', ')})` : '';
  return `${action} ${slug ?? label ?? 'a pattern'}${places}`;
}

/** Names of files come from commands in containers, so they can have control characters. */
const escapeControls = (text: string): string =>
  text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
