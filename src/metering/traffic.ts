import { currentTimeMs } from '../domain/clock.ts';
import type { TrafficRow } from '../platform/storage/ports/activity.ts';

/** What routers ask of the ledger. @see `Traffic` in routing/routers/router.ts, whose shape this is */
export interface TrafficFigures {
  /**
   * Models by the money spent on a task, the most first; none when there were fewer than 20 answers, or nothing was
   * spent.
   *
   * @returns shares of the money, 0 to 1, that add up to 1
   */
  rank(task: string): readonly { model: string; share: number }[];
  /** Nano-dollars of an answer to this task, else to any; undefined when there was none. */
  averageCost(task: string, model: string): number | undefined;
  /** Nano-dollars per million tokens of input, over all tasks; undefined when there was none. */
  inputPrice(model: string): number | undefined;
}

export interface TrafficSource {
  /** Sums over the answers from a time on, Unix milliseconds. @see `ActivityStore.readTraffic` */
  read: (sinceMs: number) => Promise<readonly TrafficRow[]>;
  now?: () => number;
  /** Called when a read fails, once per streak. */
  onTrouble: (error: unknown) => void;
}

export interface TrafficReader {
  /** The same object for good: its answers change with each read, and until the first there are none. */
  readonly traffic: TrafficFigures;
  /** Resolves when the store has been read from now on, or has failed, which leaves the last sums in place. */
  refresh(): Promise<void>;
  close(): void;
}

const WINDOW_MS = 7 * 24 * 60 * 60_000;
const REFRESH_MS = 5 * 60_000;
const MIN_ANSWERS = 20;

/** Keeps the sums of the last seven days in memory. Reads them at once, in the background, and every five minutes. */
export function createTraffic({ read, now = currentTimeMs, onTrouble }: TrafficSource): TrafficReader {
  let sums = sumUp([]);
  let troubled = false;
  let closed = false;
  let reading: Promise<void> | undefined;

  async function readOnce(): Promise<void> {
    try {
      const rows = await read(now() - WINDOW_MS);
      if (!closed) sums = sumUp(rows);
      troubled = false;
    } catch (error) {
      if (!troubled && !closed) onTrouble(error);
      troubled = true;
    } finally {
      reading = undefined;
    }
  }

  /** One read at a time; a caller during one waits for the next, which sees what was booked meanwhile. */
  async function refresh(): Promise<void> {
    while (reading) await reading;
    if (closed) return;
    reading = readOnce();
    await reading;
  }

  void refresh();
  const timer = setInterval(() => {
    if (!reading) void refresh(); // a store that does not answer is asked once
  }, REFRESH_MS).unref();

  return {
    traffic: {
      rank: (task) => sums.rankings.get(task) ?? [],
      averageCost: (task, model) => averageOf(sums.byTask.get(task)?.get(model) ?? sums.byModel.get(model)),
      inputPrice: (model) => inputPriceOf(sums.byModel.get(model)),
    },
    refresh,
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

/** Of a model. Money is nano-dollars, as a `number`: averages and shares need no more than its 16 digits. */
interface Sum {
  answers: number;
  cost: number;
  inputCost: number;
  inputTokens: number;
}

interface Sums {
  byModel: ReadonlyMap<string, Sum>;
  byTask: ReadonlyMap<string, ReadonlyMap<string, Sum>>;
  rankings: ReadonlyMap<string, readonly { model: string; share: number }[]>;
}

function sumUp(rows: readonly TrafficRow[]): Sums {
  const byModel = new Map<string, Sum>();
  const byTask = new Map<string, Map<string, Sum>>();
  for (const row of rows) {
    addTo(byModel, row);
    if (row.task === null) continue;
    const models = byTask.get(row.task) ?? new Map<string, Sum>();
    byTask.set(row.task, models);
    addTo(models, row);
  }
  const rankings = new Map([...byTask].map(([task, models]) => [task, rank(models)]));
  return { byModel, byTask, rankings };
}

function addTo(sums: Map<string, Sum>, { model, answers, costNanoUsd, inputCostNanoUsd, inputTokens }: TrafficRow) {
  const sum = sums.get(model) ?? { answers: 0, cost: 0, inputCost: 0, inputTokens: 0 };
  sums.set(model, {
    answers: sum.answers + answers,
    cost: sum.cost + Number(costNanoUsd),
    inputCost: sum.inputCost + Number(inputCostNanoUsd),
    inputTokens: sum.inputTokens + Number(inputTokens),
  });
}

/** Where as much was spent, the one that answered more often comes first. */
function rank(models: ReadonlyMap<string, Sum>): { model: string; share: number }[] {
  let answers = 0;
  let spent = 0;
  for (const sum of models.values()) {
    answers += sum.answers;
    spent += sum.cost;
  }
  if (answers < MIN_ANSWERS || spent <= 0) return [];
  return [...models]
    .sort(([a, one], [b, other]) => other.cost - one.cost || other.answers - one.answers || (a < b ? -1 : 1))
    .map(([model, { cost }]) => ({ model, share: cost / spent }));
}

function averageOf(sum: Sum | undefined): number | undefined {
  return sum && sum.answers > 0 ? sum.cost / sum.answers : undefined;
}

function inputPriceOf(sum: Sum | undefined): number | undefined {
  return sum && sum.inputTokens > 0 ? (sum.inputCost / sum.inputTokens) * 1e6 : undefined;
}
