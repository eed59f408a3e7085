import type { JSX } from 'react';
import { toNano } from '../logic/money.ts';
import { formatShare } from '../logic/numbers.ts';
import { Icon } from '../ui/icon.tsx';
import { Money, RoundMoney } from '../ui/values.tsx';
import { intervalWords, type Limit, usedShare } from './limits.ts';

/** How much of a limit is used, as a bar and in words. */
export function LimitBar({ limit, hasName = true }: { limit: Limit; hasName?: boolean }): JSX.Element {
  const share = usedShare(limit);
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : '';
  return (
    <div style={{ display: 'grid', gap: 4, minWidth: 160 }}>
      <div className="row">
        {hasName && (
          <>
            <strong className="wrap">{limit.name}</strong>
            <span className="soft">
              {limit.kind}, {limit.interval === null ? 'in total' : intervalWords[limit.interval]}
            </span>
          </>
        )}
        <span className={`spread ${tone}`}>
          {tone !== '' && <Icon name="warning" size={13} />} {formatShare(share, 1)}
        </span>
      </div>
      <div className="bar">
        <div className={tone} style={{ width: `${Math.min(100, share * 100)}%` }} />
      </div>
      <div className="soft small-text">
        <Money amount={toNano(limit.used.toFixed(9))} /> of <RoundMoney amount={limit.limit} />
      </div>
    </div>
  );
}
