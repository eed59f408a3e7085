import { readFileSync } from 'node:fs';
import { errorKinds } from '../domain/errors.ts';
import { isSplit, type LedgerEntry, type LedgerLine, type InFlightEntry } from '../domain/ledger-entry.ts';
import { sumLines } from './sum-lines.ts';

/** The records of an earlier process in the folder. */
export interface OrphanedRecords {
  /** Its entries, then the estimates of `interrupted` requests. */
  entries: LedgerEntry[];
  /** Number of estimates of requests that were in flight when it ended. They are the last entries. */
  interrupted: number;
  /** Complete lines that cannot be read: damaged ones, and those of another format. */
  unreadable: string[];
}

/** The first value of a start line. Journals of earlier builds contain it, so it must not change. */
const START = 'underway';
/** The first value of an end line. */
const END = 'end';

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
  'tags',
  'history',
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
  'history',
] as readonly (keyof LedgerEntry)[];

/**
 * Serializes a start line as a list, half as long as an entry. The code names each field, because a loop over the names
 * costs twice as much. Trailing values that a request does not have are omitted.
 */
export function serializeInFlight(inFlight: InFlightEntry): string {
  const { apiType, lines, parentId, tags, history } = inFlight;
  const line: unknown[] = [
    START,
    inFlight.id,
    inFlight.createdAtMs,
    inFlight.workspaceId,
    inFlight.keyHash,
    inFlight.memberId,
    inFlight.requestedModel,
    inFlight.router,
    inFlight.task,
    inFlight.model,
    inFlight.provider,
    inFlight.providerId,
    inFlight.endpointId,
    inFlight.tier,
    inFlight.isByok,
    inFlight.streamed,
    inFlight.sessionId,
    inFlight.endUser,
    inFlight.inputTokens,
    inFlight.outputTokens,
    String(inFlight.costNanoUsd),
    String(inFlight.inputCostNanoUsd),
    inFlight.priced,
  ];
  const isUsual = lines === undefined && parentId === undefined && tags === undefined && history === undefined;
  if (!isUsual || apiType !== undefined) line.push(apiType ?? null);
  if (!isUsual) {
    line.push(lines ? writeLines(lines) : null);
    if (parentId !== undefined || tags !== undefined || history !== undefined) line.push(parentId ?? null);
    if (tags !== undefined || history !== undefined) line.push(tags ?? null);
    if (history !== undefined) line.push(history);
  }
  return `${JSON.stringify(line)}\n`;
}

/** Serializes an end line, a third as long as an entry. The start line has the other fields. */
export function serializeEnd(entry: LedgerEntry): string {
  const line: unknown[] = [
    END,
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
  if (entry.history !== undefined) line.push(entry.history);
  return `${JSON.stringify(line)}\n`;
}

/** Returns the fields of a line by name. @param line a start line or an end line, without its first value */
const readList = <Field extends string>(fields: readonly Field[], line: readonly unknown[]) =>
  Object.fromEntries(fields.map((field, index) => [field, line[index]]));

/** Whether the start line and the end line contain the complete entry. */
export const isComplete = (inFlight: InFlightEntry, entry: LedgerEntry): boolean =>
  entry.lines === undefined &&
  inFlight.lines === undefined &&
  entry.special === undefined &&
  entry.pictures === undefined &&
  entry.model === inFlight.model &&
  entry.endpointId === inFlight.endpointId &&
  entry.provider === inFlight.provider &&
  entry.providerId === inFlight.providerId &&
  entry.isByok === inFlight.isByok &&
  entry.router === inFlight.router &&
  entry.task === inFlight.task &&
  entry.requestedModel === inFlight.requestedModel &&
  entry.createdAtMs === inFlight.createdAtMs &&
  entry.workspaceId === inFlight.workspaceId &&
  entry.keyHash === inFlight.keyHash &&
  entry.memberId === inFlight.memberId &&
  entry.streamed === inFlight.streamed &&
  entry.sessionId === inFlight.sessionId &&
  entry.endUser === inFlight.endUser &&
  entry.apiType === inFlight.apiType &&
  entry.parentId === inFlight.parentId &&
  entry.tags === inFlight.tags;

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
        else if (fields[0] === START) open.set(fields[1], readInFlight(fields.slice(1)));
        else if (fields[0] === END) entries.push(readEnd(fields.slice(1), open));
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
  const entry = { ...newFields, ...fields, ...readCost(fields) } as LedgerEntry; // `serializeEntry` wrote it
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
  const inFlight = { ...fields, ...readCost(fields) } as InFlightEntry; // `serializeInFlight` wrote it
  for (const field of ['apiType', 'lines', 'parentId', 'tags', 'history'] as const) {
    if (inFlight[field] === null || inFlight[field] === undefined) delete inFlight[field];
  }
  if (inFlight.lines) inFlight.lines = readLines(inFlight.lines);
  return inFlight;
}

/**
 * @param values from `serializeEnd`
 * @param open the requests with a start line in the same file
 * @throws if they are invalid
 */
function readEnd(values: readonly unknown[], open: ReadonlyMap<string, InFlightEntry>): LedgerEntry {
  const fields = readList(endFields, values);
  const inFlight = open.get(fields['id'] as string);
  if (!inFlight) throw new Error('An end line without its start line.');
  const entry = { ...inFlight, ...fields, ...readCost(fields) } as LedgerEntry; // `serializeEnd` wrote it
  if (entry.history === undefined) delete entry.history;
  return entry;
}

/**
 * Returns the entry of a request whose process died. Its outcome is unknown. Its parts so far are known if it has lines; otherwise
 * it is only its estimated input.
 */
function estimate(inFlight: InFlightEntry): LedgerEntry {
  const { status, errorType } = errorKinds.gateway_stopped;
  const { lines, ...known } = inFlight;
  return {
    ...known,
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
    ...(lines && sumLines(lines)),
    ...(lines && isSplit(lines) && { lines }),
  };
}
