import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { formatUsd } from '../domain/format-usd.ts';
import { type RecordedEntry, settledCost } from '../domain/ledger-entry.ts';
import { readHistory } from '../domain/request-history.ts';
import { usdOf } from '../metering/cost.ts';
import { writeHistoryParts } from '../management/generations/write-attempts.ts';
import { followEntries } from '../management/generations/follow.ts';
import { type FilterReader, readFilters } from '../management/generations/read-filters.ts';
import { type EntryFilters, type EntryPageQuery, entryOrders, MAX_ORDERED } from '../platform/storage/ports/entries.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { formatRequestLine, formatRoute } from '../platform/telemetry/request-line.ts';
import { resolveKey } from './resolve-key.ts';
import { readStore } from './open-store.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { type Column, drawTable } from './table.ts';
import { CommandError, hasColors, type Terminal } from './terminal.ts';
import { readTimeOption } from './time-option.ts';
import { writeLedgerEntry } from './write-ledger-entry.ts';

export interface ListRequestsOptions {
  /** The requested model, or the one that responded. */
  model?: string;
  /** Id or display name. */
  provider?: string;
  /** By hash, first digits or name. */
  key?: string;
  member?: string;
  /** Id, slug or name. */
  workspace?: string;
  session?: string;
  /** `team:search`, several with commas. */
  tag?: string;
  /** A status, or a class of them. */
  status?: string;
  outcome?: string;
  finishReason?: string;
  errorType?: string;
  tool?: string;
  /** USD. */
  minCost?: string;
  maxCost?: string;
  /** Milliseconds. */
  minDuration?: string;
  maxDuration?: string;
  /** `true` or `false`, like the next one. */
  streamed?: string;
  cached?: string;
  sort?: string;
  order?: string;
  /** The hash that entries show. */
  externalUser?: string;
  /** Only requests without a complete response. */
  failed?: boolean;
  since?: string;
  until?: string;
  limit?: string;
  follow?: boolean;
  json?: boolean;
}

const MAX_LIMIT = 1000;
/** Number of characters of an id that a table shows. They come from a random number. */
const ID_END = 8;

/** Prints the last requests, the newest last as in a log. With `follow`, also prints later requests when they end. */
export async function printRequests(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  options: ListRequestsOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  const limit = readLimit(options.limit);
  await readStore({ config, stderr }, async (storage) => {
    const filters = await readListOptions(storage, options);
    const ordered = readOrder(options, filters);
    if (options.follow) return followRequests(terminal, storage, { filters, limit, json: options.json ?? false });
    const entries = await readPages(storage, { ...filters, ...ordered }, limit);
    if (options.sort === undefined && options.order === undefined) entries.reverse();
    if (options.json) stdout.write(`${JSON.stringify(entries.map(writeLedgerEntry), undefined, 2)}\n`);
    else if (entries.length === 0) stdout.write('There are no such requests.\n');
    else stdout.write(drawTable(terminal, ...createTable(entries)));
  });
}

type ListOptions = Omit<EntryPageQuery, 'after' | 'limit'>;

/** Reads the conditions of a list. @throws {CommandError} that names the invalid option */
export async function readListOptions(
  { access, management }: Storage,
  options: ListRequestsOptions,
): Promise<EntryFilters> {
  const { key, member, workspace, session, externalUser, failed, since, until } = options;
  const fromMs = since === undefined ? undefined : readTimeOption('--since', since).startMs;
  const toMs = until === undefined ? undefined : readTimeOption('--until', until).endMs;
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new CommandError(`--until ${until}: give a time after --since.`);
  }
  return {
    ...readFilters(readOptions(options)),
    memberId: member,
    sessionId: session,
    endUser: externalUser,
    ...(failed && { outcomes: ['failed', 'incomplete', 'cancelled'] as const }),
    ...(key !== undefined && { keyHash: resolveKey(await access.listKeys(), key).hash }),
    ...(workspace !== undefined && {
      workspaceId: (await resolveWorkspace(management, workspace)).id,
    }),
    fromMs,
    toMs,
  };
}

/** Reads options by the names of the parameters of the API: `min_cost` is `--min-cost`. */
const readOptions = (options: ListRequestsOptions): FilterReader => ({
  text(name) {
    const option = name.replaceAll(/_./g, (part) => part[1]!.toUpperCase()) as keyof ListRequestsOptions;
    const value = options[option];
    return typeof value === 'string' && value !== '' ? value : undefined;
  },
  refuse(name, value, rule) {
    throw new CommandError(`--${name.replaceAll('_', '-')} ${value}: give ${rule.replaceAll('`', '')}.`);
  },
});

/** Reads `--sort` and `--order`. */
function readOrder({ sort, order, follow }: ListRequestsOptions, { fromMs }: EntryFilters): ListOptions {
  const by = entryOrders.find((word) => word === (sort ?? 'time'));
  if (by === undefined) throw new CommandError(`--sort ${sort}: give one of ${entryOrders.join(', ')}.`);
  if (order !== undefined && order !== 'asc' && order !== 'desc') {
    throw new CommandError(`--order ${order}: give one of asc, desc.`);
  }
  if (follow && (sort !== undefined || order !== undefined)) {
    throw new CommandError('--follow prints requests in the order in which they end. Omit --sort and --order.');
  }
  if (by !== 'time' && fromMs === undefined) {
    throw new CommandError(`--sort ${by} reads a whole time range. Give its beginning with --since.`);
  }
  return { order: by, isAscending: order === 'asc' };
}

function readLimit(text = '20'): number {
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw new CommandError(`--limit ${text}: give a number from 1 to ${MAX_LIMIT}.`);
  return limit;
}

/** Reads pages until there are enough entries. */
async function readPages(
  { ledger }: Pick<Storage, 'ledger'>,
  query: ListOptions,
  limit: number,
): Promise<RecordedEntry[]> {
  const entries: RecordedEntry[] = [];
  for (let after: string | undefined; ; ) {
    const page = await ledger.listPage({ ...query, after, limit: limit - entries.length });
    if (page.isTooLarge) {
      const most = MAX_ORDERED.toLocaleString('en-US');
      throw new CommandError(
        `--sort ${query.order}: the time range has more than ${most} requests. Give a later --since.`,
      );
    }
    entries.push(...page.entries);
    after = page.next;
    if (after === undefined || entries.length >= limit) return entries;
  }
}

/** Prints the last requests as lines. Then prints a line for each request that ends, until the output is closed. */
async function followRequests(
  terminal: Terminal,
  { ledger }: Storage,
  { filters, limit, json }: { filters: EntryFilters; limit: number; json: boolean },
): Promise<void> {
  const write = (entry: RecordedEntry): string =>
    json
      ? JSON.stringify(writeLedgerEntry(entry))
      : `${formatRequestLine(createLine(entry), { hasColors: hasColors(terminal) })}  ${entry.id.slice(-ID_END)}`;
  const readLast = async () => (await readPages({ ledger }, filters, limit)).reverse();
  const signal = terminal.closed ?? new AbortController().signal;
  for await (const { entries } of followEntries({ ledger, filters, readLast, signal })) {
    if (entries.length > 0) terminal.stdout.write(`${entries.map(({ entry }) => write(entry)).join('\n')}\n`);
    await terminal.stdout.drain?.(); // a paused pager must not fill the memory
  }
}

const createLine = (entry: RecordedEntry): Parameters<typeof formatRequestLine>[0] => ({
  time: entry.createdAtMs,
  status: entry.status,
  requested_model: entry.requestedModel || (readHistory(entry.history)?.route ?? ''), // a rejected key names no model
  model: entry.model,
  provider: entry.provider,
  outcome: entry.outcome,
  error_type: entry.errorType,
  duration_ms: entry.durationMs,
  input_tokens: entry.inputTokens,
  output_tokens: entry.outputTokens,
  cost_usd: readCost(entry),
  estimated: entry.estimated,
});

function readCost(entry: RecordedEntry): number | null {
  const cost = settledCost(entry);
  return cost === null ? null : usdOf(cost);
}

/** Creates the columns. Adds the error column only if a request failed. */
function createTable(entries: readonly RecordedEntry[]): [Column[], string[][]] {
  const hasErrors = entries.some(({ errorType }) => errorType !== null);
  const columns: Column[] = [
    { title: 'TIME' },
    { title: 'STATUS', isNumber: true },
    { title: 'ROUTE', canWrap: true },
    ...(hasErrors ? [{ title: 'ERROR' }] : []),
    ...['MS', 'IN', 'OUT', 'COST'].map((title) => ({ title, isNumber: true })),
    { title: 'ID' },
  ];
  const today = new Date(currentTimeMs()).toDateString();
  const rows = entries.map((entry) => {
    const line = createLine(entry);
    const { costs, tokens } = { costs: formatCost(entry), tokens: [entry.inputTokens, entry.outputTokens] };
    return [
      formatLocalTime(entry.createdAtMs, today),
      String(entry.status),
      formatRoute(line),
      ...(hasErrors ? [entry.errorType ?? (entry.outcome === 'completed' ? '' : entry.outcome)] : []),
      ...[entry.durationMs, ...tokens].map((value) => Math.round(value).toLocaleString('en-US')),
      costs,
      entry.id.slice(-ID_END),
    ];
  });
  return [columns, rows];
}

function formatCost(entry: RecordedEntry): string {
  const cost = readCost(entry);
  if (entry.model === null) return '-';
  return cost === null ? 'no price' : `${entry.estimated ? '~' : ''}${formatUsd(cost)}`;
}

/** Writes the time of day in the zone of the terminal, after the day if it is not today. */
function formatLocalTime(ms: number, today: string): string {
  const date = new Date(ms);
  const time = date.toTimeString().slice(0, 8);
  if (date.toDateString() === today) return time;
  const pad = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${time}`;
}

export interface ShowRequestOptions {
  json?: boolean;
  /** Also prints the input and the output, if the workspace stores them. */
  content?: boolean;
}

/**
 * Prints one request in full.
 *
 * @param wanted its id, or the end of the id that a table shows. Absent: the last request
 * @throws {CommandError} if there is no such request
 */
export async function showRequest(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  wanted: string | undefined,
  { json, content }: ShowRequestOptions,
): Promise<void> {
  const { stdout, stderr } = terminal;
  await readStore({ config, stderr }, async (storage) => {
    const entry = await findRequest(storage, wanted);
    const [keys, workspaces] = await Promise.all([storage.access.listKeys(), storage.access.listWorkspaces()]);
    const kept = content ? await storage.contents.find(entry.id) : undefined;
    const texts = kept && { input: JSON.parse(kept.input), output: JSON.parse(kept.output) };
    if (json) {
      stdout.write(`${JSON.stringify({ ...writeLedgerEntry(entry), ...texts }, undefined, 2)}\n`);
      return;
    }
    const names = {
      key: keys.find(({ hash }) => hash === entry.keyHash)?.name,
      workspace: workspaces.find(({ id }) => id === entry.workspaceId)?.name,
    };
    for (const [name, text] of describeRequest(entry, names)) stdout.write(`${name.padEnd(14)}${text}\n`);
    printParts(terminal, entry);
    if (texts) stdout.write(`\nInput\n${print(texts.input)}\n\nOutput\n${print(texts.output)}\n`);
    else if (content) stdout.write('\nIts input and output are not kept.\n');
  });
}

const print = (value: unknown): string => JSON.stringify(value, undefined, 2);

/** @param wanted an id, or the end of one; absent: the newest request */
async function findRequest({ ledger }: Storage, wanted: string | undefined): Promise<RecordedEntry> {
  const exact = wanted === undefined ? undefined : await ledger.find(undefined, wanted);
  if (exact) return exact;
  if (wanted === undefined || !/^[\w-]{4,}$/.test(wanted)) {
    const [newest] = wanted === undefined ? await readPages({ ledger }, {}, 1) : [];
    if (newest) return newest;
    throw new CommandError(wanted === undefined ? 'There are no requests yet.' : describeUnknown(wanted));
  }
  // An end as long as the shown one is unique in practice, so the search need not read the whole ledger.
  const found = await readPages({ ledger }, { idEnd: wanted }, wanted.length < ID_END ? 2 : 1);
  if (found.length === 1) return found[0]!;
  throw new CommandError(
    found.length === 0
      ? describeUnknown(wanted)
      : `Several requests have an id that ends in "${wanted}". Give more of it.`,
  );
}

const describeUnknown = (wanted: string): string =>
  `No request has an id that ends in "${wanted.slice(0, 100)}". Give an id like gen-…, or the end of it that "headgate requests" shows.`;

function describeRequest(
  entry: RecordedEntry,
  names: { key: string | undefined; workspace: string | undefined },
): [string, string][] {
  const count = (value: number) => value.toLocaleString('en-US');
  const details = [
    entry.cachedTokens > 0 ? `${count(entry.cachedTokens)} of the input from a cache` : [],
    entry.reasoningTokens > 0 ? `${count(entry.reasoningTokens)} of the output for reasoning` : [],
    entry.estimated ? 'estimated' : [],
  ].flat();
  const { error_message: message, rejected_route: rejectedRoute, omitted_requests: omitted } = writeHistoryParts(entry);
  const rows: [string, string | false | null | undefined][] = [
    ['Id', entry.id],
    ['Time', new Date(entry.createdAtMs).toISOString()],
    ['Status', `${entry.status} (${entry.outcome})`],
    ['Error', [entry.errorType, message].filter((text) => text).join(': ')],
    ['Route', rejectedRoute],
    ['Requested', entry.requestedModel],
    ['Router', entry.router],
    ['Model', entry.model],
    ['Provider', entry.provider && `${entry.provider}${entry.isByok ? ' (BYOK key)' : ''}`],
    ['Endpoint', entry.endpointId],
    ['Service tier', entry.tier],
    ['Mode', `${entry.apiType ?? 'response'}, ${entry.streamed ? 'streamed' : 'not streamed'}`],
    ['First output', entry.firstOutputMs === null ? null : `${count(Math.round(entry.firstOutputMs))} ms`],
    ['Duration', `${count(Math.round(entry.durationMs))} ms`],
    ['Tokens', [`${count(entry.inputTokens)} in, ${count(entry.outputTokens)} out`, ...details].join('; ')],
    ['Cost', formatCost(entry)],
    ['Key', names.key ?? `${entry.keyHash.slice(0, 12)} (deleted)`],
    ['Member', entry.memberId],
    ['Workspace', names.workspace ?? entry.workspaceId],
    ['Session', entry.sessionId],
    [
      'Left out',
      omitted > 0 &&
        `${count(omitted)} further rejected ${omitted === 1 ? 'request' : 'requests'} of the key in that minute`,
    ],
  ];
  return rows.flatMap(([name, text]) => (text ? [[name, text]] : []));
}

const numbers = (...titles: string[]): Column[] => titles.map((title) => ({ title, isNumber: true }));
const formatMs = (ms: number | null): string => (ms === null ? '-' : ms.toLocaleString('en-US'));
const formatPrice = (usd: number | null): string => (usd === null ? 'no price' : formatUsd(usd));

/** Prints the attempts, tool calls, charges and stages of a request as tables, if it has more than one attempt that succeeded. */
function printParts(terminal: Terminal, entry: RecordedEntry): void {
  if (entry.history === undefined && entry.lines === undefined) return;
  const { attempts, tool_calls: calls, charges, pipeline, history_omitted: omitted } = writeHistoryParts(entry);
  const print = (title: string, columns: Column[], rows: string[][], left = 0): void => {
    if (rows.length === 0) return;
    const more = left === 0 ? '' : `${left} more ${left === 1 ? 'is' : 'are'} not in the history.\n`;
    terminal.stdout.write(`\n${title}\n${drawTable(terminal, columns, rows)}${more}`);
  };
  print(
    'Attempts, with milliseconds from the start of the request',
    [
      { title: 'STEP', isNumber: true },
      { title: 'MODEL', canWrap: true },
      { title: 'PROVIDER', canWrap: true },
      { title: 'KEY' },
      ...numbers('STATUS', 'START', 'FIRST', 'MS', 'IN', 'OUT', 'COST'),
      { title: 'ERROR', canWrap: true },
    ],
    attempts.map((attempt) => [
      String(attempt.step),
      attempt.model ?? '-',
      `${attempt.provider_name ?? '-'}${attempt.is_byok ? ' (BYOK)' : ''}`,
      attempt.provider_key ?? '-',
      String(attempt.status),
      ...[attempt.start_ms, attempt.first_byte_ms, attempt.duration_ms].map(formatMs),
      ...[attempt.tokens_prompt, attempt.tokens_completion].map(formatMs),
      formatPrice(attempt.total_cost),
      [attempt.error_type, attempt.error_message].filter((text) => text).join(': '),
    ]),
    omitted?.attempts,
  );
  print(
    'Tool calls',
    [{ title: 'STEP', isNumber: true }, { title: 'TOOL' }, ...numbers('START', 'MS'), { title: 'OUTCOME' }],
    calls.map(({ step, tool, start_ms: start, duration_ms: duration, outcome }) => [
      String(step),
      tool ?? '-',
      formatMs(start),
      formatMs(duration),
      outcome,
    ]),
    omitted?.tool_calls,
  );
  print(
    'Charges',
    [{ title: 'NAME' }, { title: 'SERVICE' }, { title: 'COST', isNumber: true }],
    charges.map(({ name, service, total_cost: cost }) => [name ?? '-', service ?? '-', formatPrice(cost)]),
  );
  print(
    'Pipeline',
    [{ title: 'STAGE' }, { title: 'NAME' }, { title: 'RESULT', canWrap: true }],
    pipeline.map(({ type, name, summary = '', data }) => [type, name, summary || (data ? JSON.stringify(data) : '')]),
    omitted?.pipeline,
  );
}
