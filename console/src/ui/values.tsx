import type { JSX } from 'react';
import { formatMoney, moneyParts, toNano } from '../logic/money.ts';
import { formatFullTime, formatTime } from '../logic/time.ts';

/** An exact amount. The digits after the cents are quieter. Null: no price is known. */
export function Money({ amount }: { amount: bigint | number | string | null }): JSX.Element {
  if (amount === null) return <span className="soft">no price</span>;
  const { main, tail } = moneyParts(typeof amount === 'bigint' ? amount : toNano(amount));
  return (
    <span className="money">
      {main}
      <span className="tail">{tail}</span>
    </span>
  );
}

/** A limit, which people set in whole dollars or cents: `$500.00`. Further digits are shown if there are some. */
export function RoundMoney({ amount }: { amount: number }): JSX.Element {
  const { main, tail } = moneyParts(toNano(amount));
  return <span className="money">{/^0+$/.test(tail) ? main : main + tail}</span>;
}

/** @returns an amount as text, for titles and labels */
export const moneyText = (amount: number | null): string =>
  amount === null ? 'no price' : formatMoney(toNano(amount));

/** A time in the zone of the viewer. Its title has the date, the milliseconds and the zone. */
export function Time({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={formatFullTime(at)}>
      {formatTime(at)}
    </time>
  );
}

/** A value that is not there. */
export function Absent(): JSX.Element {
  return (
    <span className="soft">
      <span aria-hidden="true">–</span>
      <span className="hidden">none</span>
    </span>
  );
}
