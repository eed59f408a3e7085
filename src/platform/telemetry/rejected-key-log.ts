import { codeOf } from './describe-failure.ts';
import type { WriteLog } from './log-messages.ts';
import type { ObservedAttempt } from './observed.ts';

/** Time after which a key that is still rejected is logged again. */
const REPEAT_MS = 3_600_000;
/** Number of remembered keys at which all are forgotten. */
const MAX_KEYS = 1000;

/** The parts of `ServiceError` that it reads. */
export interface ServiceRejection {
  /** HTTP status, if it answered. */
  readonly status: number | undefined;
  /** Whether it rejects the key of the gateway. */
  readonly rejectsKey: boolean;
}

/** Logs a key that a provider or a service rejects once and not per request, because each request with it fails alike. */
export class RejectedKeyLog {
  private readonly log: WriteLog;
  private readonly now: () => number;
  /** Name of the provider or service, and the number of its key → when it was logged, and the rejections since. */
  private readonly seen = new Map<string, { atMs: number; count: number }>();

  constructor(log: WriteLog, now: () => number = Date.now) {
    this.log = log;
    this.now = now;
  }

  /** @returns whether the provider has rejected the key of the attempt */
  noteAttempt({ endpoint, error, key }: Pick<ObservedAttempt, 'endpoint' | 'error' | 'key'>): boolean {
    if (error?.kind !== 'upstream_key_rejected') return false;
    const { id: provider } = endpoint.provider;
    this.note(`provider ${provider} ${key ?? 0}`, (count) =>
      this.log('provider key rejected', {
        provider,
        ...(key !== undefined && { key: key + 1 }),
        ...codeOf(error),
        error: error.loggedMessage ?? error.message,
        count,
      }),
    );
    return true;
  }

  /** @param service its name in the log, such as `mcp wiki` @returns whether the service has rejected the key */
  noteService(service: string, { status, rejectsKey }: ServiceRejection): boolean {
    if (!rejectsKey) return false;
    this.note(`service ${service}`, (count) => this.log('service key rejected', { service, status, count }));
    return true;
  }

  private note(name: string, write: (count: number) => void): void {
    const atMs = this.now();
    const known = this.seen.get(name);
    if (known && atMs - known.atMs < REPEAT_MS) {
      known.count++;
      return;
    }
    if (!known && this.seen.size === MAX_KEYS) this.seen.clear();
    write((known?.count ?? 0) + 1);
    this.seen.set(name, { atMs, count: 0 });
  }
}
