import { performance } from 'node:perf_hooks'; // the global is a getter
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Attempt } from '../run/attempt.ts';
import type { PoorEnd } from '../run/run-kind.ts';

/** The rules of a kind of runs that the gate needs. */
interface OutputRules<R, A, C> {
  isOutput(run: R, chunk: C): boolean;
  isKept(chunk: C): boolean;
  judgeEnd?(run: R, attempt: A, held: C[]): MaybePromise<PoorEnd | undefined>;
  remember?(attempt: A): void;
}

/**
 * Buffers the chunks of an attempt until one of them is output. While it is closed, the client does not notice a
 * fallback to another endpoint.
 */
export class Gate<R, A extends Attempt, C> implements Sink<C> {
  /** The buffered chunks. Empty once the gate is open. */
  held: C[];
  /** The promise of the last batch; undefined if the sink did not return one. */
  passing: Promise<void> | undefined;
  private isOpen = false;
  private readonly run: R;
  private readonly attempt: A;
  private readonly rules: OutputRules<R, A, C>;
  private readonly out: Sink<C>;
  private readonly kept: C[];

  /** @param kept chunks of failed attempts that are still passed on; those of this attempt are added */
  constructor(run: R, attempt: A, rules: OutputRules<R, A, C>, out: Sink<C>, kept: C[]) {
    this.run = run;
    this.attempt = attempt;
    this.rules = rules;
    this.out = out;
    this.kept = kept;
    this.held = [...kept];
  }

  write(chunks: C[]): Promise<void> | undefined {
    if (!this.isOpen) return this.hold(chunks);
    this.passing = this.out.write(chunks);
    return this.passing;
  }

  private hold(chunks: C[]): Promise<void> | undefined {
    let isOutput = false;
    for (const chunk of chunks) {
      this.held.push(chunk);
      if (this.rules.isKept(chunk)) this.kept.push(chunk);
      isOutput ||= this.rules.isOutput(this.run, chunk);
    }
    return isOutput ? this.open() : undefined;
  }

  /** Passes the end of the attempt on, unless it lacks the requested output. @returns why it is not passed on */
  end(): MaybePromise<PoorEnd | undefined> {
    if (this.isOpen) return undefined;
    const poor = this.rules.judgeEnd?.(this.run, this.attempt, this.held);
    return poor instanceof Promise ? poor.then((end) => this.endAs(end)) : this.endAs(poor);
  }

  private endAs(poor: PoorEnd | undefined): PoorEnd | undefined {
    if (!poor) this.open();
    return poor;
  }

  private open(): Promise<void> | undefined {
    this.isOpen = true;
    this.attempt.firstOutputAt = performance.now();
    if (this.attempt.lessons.length > 0) this.rules.remember?.(this.attempt);
    const { held } = this;
    this.held = [];
    this.passing = this.out.write(held);
    return this.passing;
  }
}
