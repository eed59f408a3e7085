import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../domain/caller.ts';
import type { ContentParts, ContentRecord, ContentKind } from '../domain/content-record.ts';
import type { GatewayError } from '../domain/errors.ts';
import { fractionOf } from '../domain/fraction.ts';
import { inTurns } from '../domain/in-turns.ts';
import type { OutputItem } from '../domain/items.ts';
import type { RequestSettings } from '../domain/request.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { ContentStore } from '../platform/storage/ports/contents.ts';
import { nameError } from '../platform/telemetry/describe-failure.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { SecretMask } from './allowance.ts';
import { estimateWeight } from './weight.ts';
import { writeContent } from './write-content.ts';

/** The fields of an ended run that this log needs. `Run` of the pipeline has all of them. */
export interface EndedRun {
  readonly request: RequestSettings;
  readonly input: {
    /** The original input, without what the run added. */
    readGiven(): readonly object[];
    /** Its size in memory while it is parked. Undefined: it cannot be parked. */
    readonly bytes: number | undefined;
    park(): void;
  };
  readonly caller: Caller;
  /** Undefined: the gateway itself made the request. */
  readonly origin?: object | undefined;
  readonly generationId: string;
  readonly startedAtMs: number;
  readonly builder: { readonly output: readonly OutputItem[] } | undefined;
  readonly error: GatewayError | undefined;
}

export interface ContentLogOptions {
  /** How long contents are collected for one transaction. Default: 100 ms. */
  gatherMs?: number | undefined;
  store: Pick<ContentStore, 'append' | 'find'>;
  /** `io_logging` of the configuration, read each time. */
  settings: () => { max_bytes: number; max_pending_bytes: number; keep: readonly ContentKind[] };
  mask: SecretMask;
  /** Logs dropped contents and store failures, once per streak. */
  log: WriteLog;
}

export interface ContentLog {
  /** Keeps a run if the caller's workspace opted in and there is room. Never throws and never waits. */
  record(run: EndedRun): void;
  /**
   * Writes the contents of a run as they are kept, if the caller's workspace opted in.
   *
   * @param maxBytes replaces the limit of kept contents if it is smaller
   * @throws if the contents cannot be read
   */
  describe(run: EndedRun, maxBytes: number): ContentParts | undefined;
  /** Number of contents that were not kept since the start. */
  readonly dropped: number;
  /** Approximate size of the contents that wait for the store. */
  readonly pendingBytes: number;
  /**
   * Finds a content, including those that are not stored yet.
   *
   * @throws {GatewayError} `unavailable` if it is not waiting and the store does not respond
   */
  find(id: string): Promise<ContentRecord | undefined>;
  /** Resolves when all earlier contents are stored. @throws the store's error */
  flush(): Promise<void>;
  /** Flushes and ends. Logs the number of lost contents if the store does not accept them. */
  close(): Promise<void>;
}

/** A run that has ended and is not processed yet. Its input is the bytes of the request. */
interface Waiting {
  record: Pick<ContentRecord, 'id' | 'workspaceId' | 'createdAtMs'>;
  readItems: () => readonly object[];
  instructions: string | null | undefined;
  tools: readonly object[] | undefined;
  output: readonly object[];
  error: GatewayError | undefined;
  weight: number;
}

interface Ready {
  record: ContentRecord;
  weight: number;
}

const DEFAULT_GATHER_MS = 100;
const RETRY_MS = 1000;
/**
 * Maximum number of contents in a transaction, and their approximate bytes. The embedded store blocks the main thread.
 */
const GROUP = 50;
const GROUP_BYTES = 1024 * 1024;
/** Size of a run without its texts. */
const RUN_BYTES = 1024;

/**
 * Keeps inputs and outputs in the background. When a run ends, only its parts are queued. The log then reads, redacts
 * and truncates them turn by turn, and stores them in batches. The queue is bounded. Contents beyond the bound are
 * dropped and counted, without any effect on requests. Queued contents have no journal, so they are lost if the process
 * dies.
 */
export function openContentLog({
  store,
  settings,
  mask,
  log,
  gatherMs = DEFAULT_GATHER_MS,
}: ContentLogOptions): ContentLog {
  const waiting: Waiting[] = [];
  let ready: Ready[] = [];
  let storing: readonly Ready[] = [];
  let pendingBytes = 0;
  let dropped = 0;
  let isDropping = false;
  let isFailing = false;
  let settling: NodeJS.Immediate | undefined;
  let timer: NodeJS.Timeout | undefined;

  function drop(report: () => void): void {
    dropped++;
    if (!isDropping) report();
    isDropping = true;
  }

  function release(bytes: number): void {
    pendingBytes -= bytes;
    if (waiting.length + ready.length + storing.length === 0) isDropping = false;
  }

  function settle(run: Waiting): void {
    const { record, readItems, weight, ...content } = run;
    try {
      const { max_bytes: maxBytes, keep } = settings();
      const items = readItems();
      const written = writeContent({ ...content, items }, { maxBytes, keep: new Set(keep), mask });
      const made = { ...record, ...written };
      const size = 2 * (made.input.length + made.output.length + (made.error?.length ?? 0)) + RUN_BYTES;
      ready.push({ record: made, weight: size });
      pendingBytes += size;
      schedule(gatherMs);
    } catch (error) {
      drop(() => log('content unreadable', { cause: causeOf(error) }));
    }
    release(weight);
  }

  /** Processes one per turn of the event loop, so that a long one does not delay the next. */
  function settleNext(): void {
    settling = undefined;
    const run = waiting.shift();
    if (run) settle(run);
    if (waiting.length > 0) settling = setImmediate(settleNext);
  }

  function settleAll(): void {
    for (let run = waiting.shift(); run; run = waiting.shift()) settle(run);
  }

  async function drain(): Promise<void> {
    settleAll();
    while (ready.length > 0) {
      const group = takeGroup(ready);
      ready = ready.slice(group.length);
      storing = group;
      try {
        await store.append(group.map(({ record }) => record));
      } catch (error) {
        ready = [...group, ...ready];
        storing = [];
        if (!isFailing) log('content write failed', { cause: causeOf(error) });
        isFailing = true;
        throw error;
      }
      storing = [];
      isFailing = false;
      release(group.reduce((sum, { weight }) => sum + weight, 0));
      await nextTurn();
    }
  }

  const flush = inTurns(drain);

  function schedule(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      flush().catch(() => schedule(RETRY_MS));
    }, ms);
  }

  return {
    record(run) {
      if (!isWanted(run)) return;
      const { input, request } = run;
      const { instructions, tools } = request;
      const output = run.builder?.output ?? [];
      const inputBytes = input.bytes ?? 2 * (estimateWeight(input.readGiven()) + estimateWeight(instructions));
      const weight = RUN_BYTES + inputBytes + 2 * estimateWeight(output);
      const { max_pending_bytes } = settings();
      if (pendingBytes + weight > max_pending_bytes) {
        drop(() => log('content queue full', { max_pending_bytes }));
        return;
      }
      pendingBytes += weight;
      input.park();
      const { generationId: id, startedAtMs: createdAtMs } = run;
      waiting.push({
        record: { id, workspaceId: run.caller.workspaceId, createdAtMs },
        readItems: () => input.readGiven(),
        instructions,
        tools,
        output,
        error: run.error,
        weight,
      });
      settling ??= setImmediate(settleNext);
    },
    describe(run, maxBytes) {
      if (!isWanted(run)) return undefined;
      const { input, request, builder, error } = run;
      const { max_bytes, keep } = settings();
      const { instructions, tools } = request;
      const content = { instructions, items: input.readGiven(), tools, output: builder?.output ?? [], error };
      const written = writeContent(content, { maxBytes: Math.min(maxBytes, max_bytes), keep: new Set(keep), mask });
      input.park();
      return written;
    },
    get dropped() {
      return dropped;
    },
    get pendingBytes() {
      return pendingBytes;
    },
    async find(id) {
      settleAll();
      const pending = [...storing, ...ready].find(({ record }) => record.id === id);
      if (pending) return pending.record;
      return callStore(() => store.find(id));
    },
    flush,
    async close() {
      clearTimeout(timer);
      timer = undefined;
      try {
        await flush();
      } finally {
        clearTimeout(timer);
        if (settling) clearImmediate(settling);
      }
    },
  };
}

/** Returns only the name of an error, because a database may repeat the row that it rejects. */
const causeOf = (error: unknown): string | undefined => (error instanceof Error ? nameError(error) : undefined);

/** Whether the workspace opted in and the run is sampled. A session is kept completely or not at all. */
function isWanted({ caller: { contentSampling: share }, origin, request, generationId }: EndedRun): boolean {
  if (share === undefined || !origin) return false;
  return share >= 1 || fractionOf(request.session_id ?? generationId) < share;
}

function takeGroup(ready: readonly Ready[]): readonly Ready[] {
  let count = 0;
  for (let bytes = 0; count < ready.length && count < GROUP && bytes < GROUP_BYTES; count++)
    bytes += ready[count]!.weight;
  return ready.slice(0, count);
}
