import { readFileSync } from 'node:fs';
import { errorKinds } from '../domain/errors.ts';
import type { LedgerEntry, LedgerLine, InFlightEntry } from '../domain/ledger-entry.ts';

/** The records of an earlier process in the folder. */
export interface OrphanedRecords {
  /** Its entries, then the estimates of `interrupted` requests. */
  entries: LedgerEntry[];
  /** Number of estimates of requests that were in flight when it ended. They are the last entries. */
  interrupted: number;
  /** Foreign or damaged lines, without lines that were never acknowledged. */
  unreadable: string[];
}

/** Serializes an entry as a line, without the line end. */
export function serializeEntry(entry: LedgerEntry): string {
  const { costNanoUsd, inputCostNanoUsd, lines } = entry;
  return JSON.stringify({
    ...entry,
    costNanoUsd: String(costNanoUsd),
    inputCostNanoUsd: String(inputCostNanoUsd),
    ...(lines && { lines: writeLines(lines) }),
  });
}

const writeLines = (lines: readonly LedgerLine[]) =>
  lines.map((line) => ({
    ...line,
    costNanoUsd: String(line.costNanoUsd),
    inputCostNanoUsd: String(line.inputCostNanoUsd),
  }));
const readLines = (lines: readonly LedgerLine[]) => lines.map((line) => ({ ...line, ...readCost({ ...line }) }));

/** The fields of a start line, in the order of `serializeInFlight`. New fields go to the end. */
const inFlightFields = [
  'id',
  'createdAtMs',
  'workspaceId',
  'keyHash',
  'memberId',
  'requestedModel',
  'router',
  'task',
  'model',
  'provider',
  'providerId',
  'endpointId',
  'tier',
  'isByok',
  'streamed',
  'sessionId',
  'endUser',
  'inputTokens',
  'outputTokens',
  'costNanoUsd',
  'inputCostNanoUsd',
  'priced',
  'apiType',
  'lines',
  'parentId',
] as readonly (keyof InFlightEntry)[];

/** The fields of an end line, in the order of `serializeEnd`. New fields go to the end. */
const endFields = [
  'id',
  'tier',
  'outcome',
  'status',
  'errorType',
  'inputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'costNanoUsd',
  'inputCostNanoUsd',
  'priced',
  'upstreamCostNanoUsd',
  'estimated',
  'firstOutputMs',
  'durationMs',
] as readonly (keyof LedgerEntry)[];

/**
 * Serializes a start line: a list, half as long as an entry. The values are named one by one, because reading them by
 * a list of names costs twice as much. Trailing values are omitted, because few requests have them.
 */
export function serializeInFlight(underway: InFlightEntry): string {
  const { apiType, lines, parentId } = underway;
  const line: unknown[] = [
    'underway',
    underway.id,
    underway.createdAtMs,
    underway.workspaceId,
    underway.keyHash,
    underway.memberId,
    underway.requestedModel,
    underway.router,
    underway.task,
    underway.model,
    underway.provider,
    underway.providerId,
    underway.endpointId,
    underway.tier,
    underway.isByok,
    underway.streamed,
    underway.sessionId,
    underway.endUser,
    underway.inputTokens,
    underway.outputTokens,
    String(underway.costNanoUsd),
    String(underway.inputCostNanoUsd),
    underway.priced,
  ];
  const isUsual = lines === undefined && parentId === undefined;
  if (!isUsual || apiType !== undefined) line.push(apiType ?? null);
  if (!isUsual) line.push(lines ? writeLines(lines) : null);
  if (parentId !== undefined) line.push(parentId);
  return `${JSON.stringify(line)}\n`;
}

/** Serializes an end line: a third of an entry. The start line has the rest. */
export function serializeEnd(entry: LedgerEntry): string {
  const line: unknown[] = [
    'end',
    entry.id,
    entry.tier,
    entry.outcome,
    entry.status,
    entry.errorType,
    entry.inputTokens,
    entry.cachedTokens,
    entry.cacheWriteTokens,
    entry.outputTokens,
    entry.reasoningTokens,
    String(entry.costNanoUsd),
    String(entry.inputCostNanoUsd),
    entry.priced,
    entry.upstreamCostNanoUsd,
    entry.estimated,
    entry.firstOutputMs,
    entry.durationMs,
  ];
  return `${JSON.stringify(line)}\n`;
}

/** @param line a start line or an end line, without its name */
const readList = <Field extends string>(fields: readonly Field[], line: readonly unknown[]) =>
  Object.fromEntries(fields.map((field, index) => [field, line[index]]));

/** Whether the start line and the end line contain the complete entry. */
export const isComplete = (underway: InFlightEntry, entry: LedgerEntry): boolean =>
  entry.lines === undefined &&
  underway.lines === undefined &&
  entry.special === undefined &&
  entry.pictures === undefined &&
  entry.model === underway.model &&
  entry.endpointId === underway.endpointId &&
  entry.provider === underway.provider &&
  entry.providerId === underway.providerId &&
  entry.isByok === underway.isByok &&
  entry.router === underway.router &&
  entry.task === underway.task &&
  entry.requestedModel === underway.requestedModel &&
  entry.createdAtMs === underway.createdAtMs &&
  entry.workspaceId === underway.workspaceId &&
  entry.keyHash === underway.keyHash &&
  entry.memberId === underway.memberId &&
  entry.streamed === underway.streamed &&
  entry.sessionId === underway.sessionId &&
  entry.endUser === underway.endUser &&
  entry.apiType === underway.apiType &&
  entry.parentId === underway.parentId;

/** Reads the entries in these files, and estimates the requests without an entry. */
export function readOrphanedRecords(files: readonly string[]): OrphanedRecords {
  const entries: LedgerEntry[] = [];
  const open = new Map<string, InFlightEntry>();
  const unreadable: string[] = [];
  for (const file of files) {
    // text after the last line end was never acknowledged: reserved space, or an interrupted write
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      try {
        const fields = JSON.parse(line);
        if (!Array.isArray(fields)) entries.push(readEntry(fields));
        else if (fields[0] === 'underway') open.set(fields[1], readInFlight(fields.slice(1)));
        else if (fields[0] === 'end') entries.push(readEnd(fields.slice(1), open));
        else unreadable.push(line);
      } catch {
        unreadable.push(line);
      }
    }
  }
  for (const { id } of entries) open.delete(id);
  return { entries: [...entries, ...Array.from(open.values(), estimate)], interrupted: open.size, unreadable };
}

/** Defaults of fields that earlier builds did not write. */
const newFields = {
  router: null,
  task: null,
  providerId: null,
  endpointId: null,
  tier: null,
  isByok: false,
  upstreamCostNanoUsd: null,
};

/** @param fields from `serializeEntry`. @throws if they are invalid */
function readEntry(fields: Record<string, unknown>): LedgerEntry {
  const entry = { ...newFields, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
  if (entry.lines) entry.lines = readLines(entry.lines);
  return entry;
}

const readCost = ({ costNanoUsd, inputCostNanoUsd = 0 }: Record<string, unknown>) => ({
  costNanoUsd: BigInt(costNanoUsd as string),
  inputCostNanoUsd: BigInt(inputCostNanoUsd as string),
});

/** @param values from `serializeInFlight`. @throws if they are invalid */
function readInFlight(values: readonly unknown[]): InFlightEntry {
  const fields = readList(inFlightFields, values);
  const underway = { ...fields, ...readCost(fields) } as InFlightEntry; // by its writer
  for (const field of ['apiType', 'lines', 'parentId'] as const) {
    if (underway[field] === null || underway[field] === undefined) delete underway[field];
  }
  if (underway.lines) underway.lines = readLines(underway.lines);
  return underway;
}

/**
 * @param values from `serializeEnd`
 * @param open the requests with a start line in the same file
 * @throws if they are invalid
 */
function readEnd(values: readonly unknown[], open: ReadonlyMap<string, InFlightEntry>): LedgerEntry {
  const fields = readList(endFields, values);
  const underway = open.get(fields['id'] as string);
  if (!underway) throw new Error('An end line without its start line.');
  return { ...underway, ...fields, ...readCost(fields) } as LedgerEntry; // by its writer
}

/**
 * Returns the entry of a request whose process died. Its outcome is unknown, so its estimated input is recorded.
 */
function estimate(underway: InFlightEntry): LedgerEntry {
  const { status, errorType } = errorKinds.gateway_stopped;
  return {
    ...underway,
    outcome: 'failed',
    status,
    errorType,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    upstreamCostNanoUsd: null,
    estimated: true,
    firstOutputMs: null,
    durationMs: 0,
  };
}
