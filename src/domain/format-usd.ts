/**
 * Formats an amount: `$12.50`, `$0.25`, `$0.0010`, `$0.00065`. Two decimals from one dollar on, and for whole cents.
 * Otherwise at least four, and as many as two significant digits need, up to nano-dollars.
 */
export function formatUsd(usd: number): string {
  const amount = Math.abs(usd);
  if (amount === 0) return '$0';
  const isWholeCents = amount >= 0.01 && Math.abs(amount * 100 - Math.round(amount * 100)) < 1e-7;
  const digits = amount >= 1 || isWholeCents ? 2 : Math.min(9, Math.max(4, 1 - Math.floor(Math.log10(amount))));
  const text = amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${usd < 0 ? '-' : ''}$${text}`;
}
