import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import { FairPlaces } from '../../domain/fair-places.ts';
import type { CheckedText, JsonOutputFormat } from '../../domain/json-format.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { moduleUrl } from '../../domain/module-url.ts';
import { TaskFault, TaskThreads } from '../task-threads.ts';
import { healJson, type JsonRoot } from './heal-json.ts';
import type { HealJob, HealResult } from './heal-worker.ts';

/** Characters of a text that is fast to repair, regardless of its mistakes. */
const SHORT = 4096;
/** Time of one text, with the start of a thread. The parser needs quadratic time for some mistakes. */
const TIMEOUT_MS = 5000;
const MEMORY = 268_435_456;
/** Texts that are repaired at the same time. */
const PARALLEL = 2;
/** Texts that wait. More stay unchanged. */
const QUEUE = 32;

export interface HealerLimits {
  timeoutMs: number;
  parallel: number;
  queue: number;
}

export interface HealOptions {
  root: JsonRoot | undefined;
  workspaceId: string;
  cancellation: Pick<Cancellation, 'reason' | 'add' | 'remove'>;
}

/** Repairs JSON: short texts at once, long ones in threads that workspaces share. */
export class JsonHealer {
  private readonly limits: HealerLimits;
  private readonly places: FairPlaces;
  private readonly threads = new TaskThreads<HealJob, HealResult>(moduleUrl('./heal-worker', import.meta.url));

  constructor(limits: HealerLimits = { timeoutMs: TIMEOUT_MS, parallel: PARALLEL, queue: QUEUE }) {
    this.limits = limits;
    const { parallel: places, queue } = limits;
    this.places = new FairPlaces(
      () => ({ places, queue }),
      () => new GatewayError('unavailable', 'Too many texts are being repaired.'),
    );
  }

  /**
   * @returns the same text if it is valid; undefined if it cannot be repaired, or not within the limits, or the run is
   * cancelled
   */
  heal(text: string, options: HealOptions): MaybePromise<string | undefined> {
    return text.length <= SHORT ? healJson(text, options.root) : this.healLong(text, options);
  }

  /**
   * Repairs a text and checks whether it matches its format. A schema of a caller can take long, so threads check it.
   *
   * @returns the same text if it cannot be repaired; it counts as matching if that cannot be decided within the limits
   */
  async check(text: string, format: JsonOutputFormat, options: Omit<HealOptions, 'root'>): Promise<CheckedText> {
    const schema = format.type === 'json_schema' ? JSON.stringify(format.schema) : undefined;
    const result = await this.run({ text, root: readRoot(format), schema }, options);
    if (!result) return { text, matches: true };
    return { text: result.isValid ? text : (result.healed ?? text), matches: result.matches };
  }

  private async healLong(text: string, { root, ...options }: HealOptions): Promise<string | undefined> {
    const result = await this.run({ text, root, schema: undefined }, options);
    return result?.isValid ? text : result?.healed;
  }

  private async run(job: HealJob, options: Omit<HealOptions, 'root'>): Promise<HealResult | undefined> {
    const { workspaceId, cancellation } = options;
    const { timeoutMs } = this.limits;
    let leave: (() => void) | undefined;
    try {
      leave = await this.places.enter(workspaceId, cancellation);
      return await this.threads.run(job, { timeoutMs, memory: MEMORY }, cancellation);
    } catch (error) {
      if (error instanceof TaskFault || error instanceof GatewayError) return undefined;
      throw error;
    } finally {
      leave?.();
    }
  }
}

/** @returns undefined: the schema permits both */
export function readRoot(format: JsonOutputFormat): JsonRoot | undefined {
  if (format.type !== 'json_schema') return 'object';
  const { type } = format.schema as { type?: unknown };
  return type === 'object' || type === 'array' ? type : undefined;
}
