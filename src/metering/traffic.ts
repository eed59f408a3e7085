import { currentTimeMs } from '../domain/clock.ts';
import type { TrafficRow } from '../platform/storage/ports/activity.ts';

/** Statistics of the ledger for routers. @see `Traffic` in routing/routers/router.ts, which has the same shape */
export interface TrafficFigures {
  /**
   * Returns models by their spending on a task, highest first. Empty below 20 responses or without spending.
   *
   * @returns shares from 0 to 1 that add up to 1
   */
  rank(task: string): readonly { model: string; share: number }[];
  /** Returns the average nano-dollars of a response for this task, else for any task. Undefined without responses. */
  averageCost(task: string, model: string): number | undefined;
  /** Returns nano-dollars per million input tokens over all tasks. Undefined without input. */
  inputPrice(model: string): number | undefined;
}

export interface TrafficSource {
  /** Reads sums over the responses since a time, in Unix milliseconds. @see `ActivityStore.readTraffic` */
  read: (sinceMs: number) => Promise<readonly TrafficRow[]>;
  now?: () => number;
  /** Called for the first failure of a series of reads. */
  onTrouble: (error: unknown) => void;
}

export interface TrafficReader {
  /** Always the same object. Its results change with each read and are empty before the first. */
  readonly traffic: TrafficFigures;
  /** Resolves after a read that starts now. If it fails, the previous sums stay. */
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

  /** Runs one read at a time. A call during a read waits for the next one, which includes new entries. */
  async function refresh(): Promise<void> {
    while (reading) await reading;
    if (closed) return;
    reading = readOnce();
    await reading;
  }

  void refresh();
  const timer = setInterval(() => {
    if (!reading) void refresh(); // no second read while one is pending
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

/** Sums of a model. Costs are nano-dollars as a `number`, because 16 digits are enough for averages and shares. */
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

/** Sorts by spending, then by the number of responses. */
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
