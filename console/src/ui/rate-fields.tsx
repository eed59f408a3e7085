import type { JSX } from 'react';
import { countPattern, Field, readNumber } from './field.tsx';

/** The limits of rates that keys, members and workspaces have, as texts of fields. */
export interface RateDraft {
  requests: string;
  tokens: string;
  concurrent: string;
}

interface Rates {
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_requests: number | null;
}

const write = (value: number | null | undefined): string =>
  value === null || value === undefined ? '' : String(value);

export const draftRates = (rates?: Rates): RateDraft => ({
  requests: write(rates?.requests_per_minute),
  tokens: write(rates?.tokens_per_minute),
  concurrent: write(rates?.concurrent_requests),
});

export const readRates = ({ requests, tokens, concurrent }: RateDraft): Rates => ({
  requests_per_minute: readNumber(requests),
  tokens_per_minute: readNumber(tokens),
  concurrent_requests: readNumber(concurrent),
});

/** @returns options of the command line */
export const rateOptions = (rates: Rates, hasNone: boolean) =>
  Object.fromEntries(
    Object.entries(rates)
      .filter(([, value]) => value !== null || hasNone)
      .map(([name, value]) => [name.replaceAll('_', '-'), value]),
  ) as Record<string, number | null>;

/** Writes limits for a table: `60 requests/min`. Undefined: there are none. */
export function writeRates({ requests_per_minute, tokens_per_minute, concurrent_requests }: Rates): string | undefined {
  const parts = [
    requests_per_minute === null ? [] : `${requests_per_minute} requests/min`,
    tokens_per_minute === null ? [] : `${tokens_per_minute} tokens/min`,
    concurrent_requests === null ? [] : `${concurrent_requests} at a time`,
  ].flat();
  return parts.length === 0 ? undefined : parts.join(', ');
}

export function RateFields({
  draft,
  onChange,
}: {
  draft: RateDraft;
  onChange: (draft: RateDraft) => void;
}): JSX.Element {
  const shared = { pattern: countPattern, hint: 'A whole number from 1 on', placeholder: 'no limit' };
  return (
    <div className="fields">
      <Field
        label="Requests per minute"
        value={draft.requests}
        onChange={(requests) => onChange({ ...draft, requests })}
        {...shared}
      />
      <Field
        label="Tokens per minute"
        value={draft.tokens}
        onChange={(tokens) => onChange({ ...draft, tokens })}
        {...shared}
      />
      <Field
        label="Requests at a time"
        value={draft.concurrent}
        onChange={(concurrent) => onChange({ ...draft, concurrent })}
        {...shared}
      />
    </div>
  );
}
