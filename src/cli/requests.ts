import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { formatUsd } from '../domain/format-usd.ts';
import { type RecordedEntry, settledCost } from '../domain/ledger-entry.ts';
import { usdOf } from '../metering/cost.ts';
import { writeHistoryParts } from '../management/generations/write-attempts.ts';
import type { RecentQuery } from '../platform/storage/ports/entries.ts';
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
/** Interval at which `--follow` reads the ledger. */
const FOLLOW_MS = 500;
/**
 * A request is recorded when it ends, but its id has the time of its start. `--follow` therefore also reads entries
 * this old.
 */
const FOLLOW_BACK_MS = 30 * 60_000;
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
    const query = await readFilters(storage, options);
    if (options.follow) return followRequests(terminal, storage, { query, limit, json: options.json ?? false });
    const entries = await readRecent(storage, query, limit);
    if (options.json) stdout.write(`${JSON.stringify(entries.map(writeLedgerEntry), undefined, 2)}\n`);
    else if (entries.length === 0) stdout.write('There are no such requests.\n');
    else stdout.write(drawTable(terminal, ...createTable(entries)));
  });
}

type Filters = Omit<RecentQuery, 'before' | 'limit'>;

async function readFilters({ access, management }: Storage, options: ListRequestsOptions): Promise<Filters> {
  const { model, provider, key, member, workspace, session, externalUser, failed, since, until } = options;
  return {
    model,
    provider,
    memberId: member,
    sessionId: session,
    endUser: externalUser,
    ...(failed && { outcomes: ['failed', 'incomplete', 'cancelled'] as const }),
    ...(key !== undefined && { keyHash: resolveKey(await access.listKeys(), key).hash }),
    ...(workspace !== undefined && {
      workspaceId: (await resolveWorkspace(management, workspace)).id,
    }),
    ...(since !== undefined && { fromMs: readTimeOption('--since', since).startMs }),
    ...(until !== undefined && { toMs: readTimeOption('--until', until).endMs }),
  };
}

function readLimit(text = '20'): number {
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw new CommandError(`--limit ${text}: give a number from 1 to ${MAX_LIMIT}.`);
  return limit;
}

/** Reads pages until there are enough entries. @returns the oldest first */
async function readRecent(
  { ledger }: Pick<Storage, 'ledger'>,
  query: Filters,
  limit: number,
): Promise<RecordedEntry[]> {
  const entries: RecordedEntry[] = [];
  for (let before: string | undefined; ; ) {
    const page = await ledger.listRecent({ ...query, before, limit: limit - entries.length });
    entries.push(...page.entries);
    before = page.next;
    if (before === undefined || entries.length >= limit) return entries.reverse();
  }
}

/** Prints the last requests as lines. Then prints a line for each request that ends, until the output is closed. */
async function followRequests(
  terminal: Terminal,
  storage: Storage,
  { query, limit, json }: { query: Filters; limit: number; json: boolean },
): Promise<void> {
  const write = (entry: RecordedEntry): string =>
    json
      ? JSON.stringify(writeLedgerEntry(entry))
      : `${formatRequestLine(createLine(entry), { hasColors: hasColors(terminal) })}  ${entry.id.slice(-ID_END)}`;
  let seen: ReadonlySet<string> | undefined;
  while (!terminal.closed?.aborted) {
    const fromMs = Math.max(query.fromMs ?? 0, currentTimeMs() - FOLLOW_BACK_MS);
    const recent = await readRecent(storage, { ...query, fromMs }, MAX_LIMIT);
    const next = seen ? recent.filter(({ id }) => !seen!.has(id)) : recent.slice(-limit);
    if (next.length > 0) terminal.stdout.write(`${next.map(write).join('\n')}\n`);
    await terminal.stdout.drain?.(); // a paused pager must not fill the memory
    seen = new Set(recent.map(({ id }) => id));
    await delay(FOLLOW_MS, undefined, { signal: terminal.closed }).catch(() => {}); // the loop ends
  }
}

const createLine = (entry: RecordedEntry): Parameters<typeof formatRequestLine>[0] => ({
  time: entry.createdAtMs,
  status: entry.status,
  requested_model: entry.requestedModel,
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
    const [newest] = wanted === undefined ? await readRecent({ ledger }, {}, 1) : [];
    if (newest) return newest;
    throw new CommandError(wanted === undefined ? 'There are no requests yet.' : describeUnknown(wanted));
  }
  // An end as long as the shown one is unique in practice, so the search need not read the whole ledger.
  const found = await readRecent({ ledger }, { idEnd: wanted }, wanted.length < ID_END ? 2 : 1);
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
  const rows: [string, string | null | undefined][] = [
    ['Id', entry.id],
    ['Time', new Date(entry.createdAtMs).toISOString()],
    ['Status', `${entry.status} (${entry.outcome})`],
    ['Error', [entry.errorType, writeHistoryParts(entry).error_message].filter((text) => text).join(': ')],
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
