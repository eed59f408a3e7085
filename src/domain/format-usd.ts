/**
 * Writes a sum for people: `$12.50`, `$0.0010`, `$0.00065`. Two decimals from one dollar on. Below it at least four, and as
 * many as two significant digits need, up to nano-dollars.
 */
export function formatUsd(usd: number): string {
  const amount = Math.abs(usd);
  if (amount === 0) return '$0';
  const needed = Math.max(4, 1 - Math.floor(Math.log10(amount)));
  const digits = amount >= 1 ? 2 : Math.min(9, needed);
  const text = amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${usd < 0 ? '-' : ''}$${text}`;
}
