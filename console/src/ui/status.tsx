import type { JSX } from 'react';
import { Icon, type IconName } from './icon.tsx';

export type Tone = 'good' | 'warn' | 'bad' | 'soft';

const icons: Record<Tone, IconName> = { good: 'check', warn: 'warning', bad: 'failed', soft: 'stopped' };

/** A state with an icon, a text and a color, so that the color is never the only sign. */
export function Status({ tone, children }: { tone: Tone; children: React.ReactNode }): JSX.Element {
  return (
    <span className={`status ${tone}`}>
      <Icon name={icons[tone]} size={13} />
      {children}
    </span>
  );
}

interface Ended {
  outcome: string;
  status: number | null;
}

export const toneOf = ({ outcome, status }: Ended): Tone =>
  outcome === 'completed'
    ? 'good'
    : outcome === 'incomplete'
      ? 'warn'
      : outcome === 'cancelled' && (status ?? 0) < 500
        ? 'soft'
        : 'bad';

/** How a request ended. */
export function Outcome({ entry }: { entry: Ended }): JSX.Element {
  const isPlain = entry.outcome === 'failed' || entry.outcome === 'completed';
  return <Status tone={toneOf(entry)}>{isPlain && entry.status !== null ? entry.status : entry.outcome}</Status>;
}
