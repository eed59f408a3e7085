import type { Generation } from '../api/types.ts';

export interface Bar {
  id: string;
  kind: 'attempt' | 'tool';
  label: string;
  /** From the accepted request. */
  startMs: number;
  /** From its start to the first output. Null: there was none. */
  firstMs: number | null;
  /** Null: it had not ended. */
  durationMs: number | null;
  isFailed: boolean;
}

type Timed = Pick<Generation, 'attempts' | 'tool_calls' | 'generation_time'>;

/** Places the attempts that were sent and the tool calls of a request in the order of time. */
export function timelineOf({ attempts, tool_calls, generation_time }: Timed): { bars: Bar[]; totalMs: number } {
  const bars: Bar[] = [
    ...attempts.flatMap((attempt, at): Bar[] => {
      if (attempt.start_ms === null) return [];
      const { step, provider_name, status, start_ms, first_byte_ms, duration_ms } = attempt;
      const label = `${attempts.length > 1 ? `${at + 1}. ` : ''}${provider_name ?? 'unknown provider'}${step > 1 ? `, step ${step}` : ''}`;
      return [
        {
          id: `attempt-${at}`,
          kind: 'attempt',
          label,
          startMs: start_ms,
          firstMs: first_byte_ms,
          durationMs: duration_ms,
          isFailed: status >= 400,
        },
      ];
    }),
    ...tool_calls.map(
      ({ tool, start_ms, duration_ms, outcome }, at): Bar => ({
        id: `tool-${at}`,
        kind: 'tool',
        label: tool ?? 'unknown tool',
        startMs: start_ms,
        firstMs: null,
        durationMs: duration_ms,
        isFailed: outcome !== 'ok',
      }),
    ),
  ].sort((a, b) => a.startMs - b.startMs);
  const ends = bars.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0));
  return { bars, totalMs: Math.max(1, generation_time ?? 0, ...ends) };
}
