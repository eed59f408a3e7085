/**
 * Writes a price per token as a price per million tokens, without rounding: `0.00000015` is `$0.15`.
 *
 * @param price USD as a decimal text
 */
export function perMillion(price: string): string {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(price);
  if (match === null) return price;
  const [, whole = '', fraction = ''] = match;
  const padded = fraction.padEnd(6, '0');
  const dollars = `${whole}${padded.slice(0, 6)}`.replace(/^0+(?=\d)/, '');
  const rest = padded.slice(6).replace(/0+$/, '');
  return `$${dollars}.${rest.padEnd(2, '0')}`;
}
