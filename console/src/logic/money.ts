/*
 * Money as integer nano-dollars. Sums and texts never pass through binary fractions.
 */

const NANO = 1_000_000_000n;

/**
 * @param amount USD as a decimal text, or as a number of JSON. The shortest decimal form of a number is what the gateway sent
 * @returns nano-dollars; digits after the ninth are cut
 */
export function toNano(amount: string | number): bigint {
  const text = typeof amount === 'number' ? decimalOf(amount) : amount.trim();
  const match = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text);
  if (match === null) throw new RangeError(`${text} is no amount of money.`);
  const [, sign, whole, fraction = ''] = match;
  const nano = BigInt(whole!) * NANO + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

/** Writes a number without an exponent. */
function decimalOf(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(9) : text;
}

export interface MoneyParts {
  /** Sign, dollars and cents: `-$1,234.56`. */
  main: string;
  /** The digits after the cents: at least four, and all nine if one of the last three is not 0. */
  tail: string;
}

/** Splits an amount into the part that people read first and the rest. No digit is rounded. */
export function moneyParts(nano: bigint): MoneyParts {
  const size = nano < 0n ? -nano : nano;
  const dollars = (size / NANO).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  const fraction = (size % NANO).toString().padStart(9, '0');
  const tail = fraction.endsWith('000') ? fraction.slice(2, 6) : fraction.slice(2);
  return { main: `${nano < 0n ? '-' : ''}$${dollars}.${fraction.slice(0, 2)}`, tail };
}

/** Writes an exact amount: `$0.001040`. */
export function formatMoney(nano: bigint): string {
  const { main, tail } = moneyParts(nano);
  return main + tail;
}

/** Writes an amount for an axis, with three digits that count: `$1.2k`, `$0.004`. */
export function shortMoney(usd: number): string {
  if (usd === 0) return '$0';
  const size = Math.abs(usd);
  if (size >= 1_000_000) return `$${trim(usd / 1_000_000)}M`;
  if (size >= 10_000) return `$${trim(usd / 1000)}k`;
  if (size >= 1) return `$${trim(usd)}`;
  return `$${Number(usd.toPrecision(2))}`.replace(/\$(\d)e-(\d+)/, (_, digit: string, zeros: string) => {
    return `$0.${'0'.repeat(Number(zeros) - 1)}${digit}`;
  });
}

const trim = (value: number): string => String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)));

/** @returns the amount as a number, for the height of a bar */
export const toDollars = (nano: bigint): number => Number(nano) / 1e9;

export const sumNano = (amounts: Iterable<bigint>): bigint => {
  let sum = 0n;
  for (const amount of amounts) sum += amount;
  return sum;
};
