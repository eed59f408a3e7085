import type { Generation } from '../api/types.ts';

export interface ProviderHealth {
  name: string;
  attempts: number;
  failed: number;
  /** The attempts that succeeded. A provider that has none is the provider of no request. */
  succeeded: number;
  /** The last failure. Undefined: there was none. */
  lastError: { at: string; status: number; message: string | null; id: string } | undefined;
  /** The median of the time until the first output, in milliseconds. Null: there was no output. */
  firstMs: number | null;
  tone: 'good' | 'warn' | 'bad';
}

/** Statuses of a provider that is down or full. Others, such as 400, are those of a request. */
const isFailure = (status: number): boolean => status === 429 || status === 408 || status >= 500;

/** Sums the attempts of recent requests, the newest first, by provider. The one with the most failures is first. */
export function readHealth(entries: readonly Pick<Generation, 'id' | 'created_at' | 'attempts'>[]): ProviderHealth[] {
  const found = new Map<string, ProviderHealth & { times: number[] }>();
  for (const { id, created_at, attempts } of entries) {
    for (const { provider_name: name, status, error_message, first_byte_ms } of attempts) {
      if (name === null) continue;
      const health = found.get(name) ?? {
        name,
        attempts: 0,
        failed: 0,
        succeeded: 0,
        lastError: undefined,
        firstMs: null,
        tone: 'good',
        times: [],
      };
      found.set(name, health);
      health.attempts++;
      if (status < 400) health.succeeded++;
      if (first_byte_ms !== null) health.times.push(first_byte_ms);
      if (!isFailure(status)) continue;
      health.failed++;
      health.lastError ??= { at: created_at, status, message: error_message, id };
    }
  }
  return [...found.values()]
    .map(({ times, ...health }): ProviderHealth => {
      const share = health.failed / health.attempts;
      const sorted = times.sort((a, b) => a - b);
      return {
        ...health,
        firstMs: sorted[Math.floor(sorted.length / 2)] ?? null,
        tone: share >= 0.5 ? 'bad' : share >= 0.05 ? 'warn' : 'good',
      };
    })
    .sort((a, b) => b.failed / b.attempts - a.failed / a.attempts || b.attempts - a.attempts);
}
