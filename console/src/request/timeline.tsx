import type { JSX } from 'react';
import type { Generation } from '../api/types.ts';
import { formatDuration } from '../logic/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { type Bar, timelineOf } from './timeline-bars.ts';

/** The attempts and tool calls of a request over time. The tables below it have the same numbers. */
export function Timeline({ entry }: { entry: Generation }): JSX.Element | null {
  const { bars, totalMs } = timelineOf(entry);
  if (bars.length === 0) return null;
  const hasTools = bars.some(({ kind }) => kind === 'tool');
  return (
    <Panel
      title="Time line"
      padded={false}
      aside={
        <p className="legend">
          <span className="wait">until the first output</span>
          <span>output</span>
          {bars.some(({ isFailed }) => isFailed) && <span className="failed">failed</span>}
          {hasTools && <span className="tools">tool</span>}
        </p>
      }
    >
      <ol className="timeline">
        {bars.map((bar) => (
          <li key={bar.id}>
            <span className="name" title={bar.label}>
              {bar.label}
            </span>
            <div className="track" title={describe(bar)}>
              <Pieces bar={bar} totalMs={totalMs} />
            </div>
            <span className="number">{bar.durationMs === null ? '–' : formatDuration(bar.durationMs)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

const describe = ({ startMs, firstMs, durationMs }: Bar): string =>
  [
    `starts after ${formatDuration(startMs)}`,
    firstMs === null ? '' : `first output ${formatDuration(firstMs)} later`,
    durationMs === null ? '' : `takes ${formatDuration(durationMs)}`,
  ]
    .filter(Boolean)
    .join(', ');

function Pieces({ bar, totalMs }: { bar: Bar; totalMs: number }): JSX.Element {
  const { startMs, firstMs, durationMs, isFailed, kind } = bar;
  const share = (ms: number) => `${Math.min(100, (ms / totalMs) * 100)}%`;
  const tone = isFailed ? 'bad' : kind === 'tool' ? 'tool' : '';
  const length = durationMs ?? Math.max(0, totalMs - startMs);
  const left = Math.min(startMs, totalMs * 0.995);
  if (firstMs === null || firstMs >= length) {
    return <div className={tone} style={{ left: share(left), width: share(length) }} />;
  }
  return (
    <>
      <div className={`${tone} wait`} style={{ left: share(left), width: share(firstMs) }} />
      <div className={`${tone} rest`} style={{ left: share(left + firstMs), width: share(length - firstMs) }} />
    </>
  );
}
