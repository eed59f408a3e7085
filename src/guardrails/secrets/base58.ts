import { hash } from 'node:crypto';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Returns the bytes of a Base58Check text without its checksum. Undefined: the checksum is wrong. Meant for short texts. */
export function decodeBase58Check(text: string): Buffer | undefined {
  let value = 0n;
  for (const character of text) {
    const digit = alphabet.indexOf(character);
    if (digit < 0) return undefined;
    value = value * 58n + BigInt(digit);
  }
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  const payload = bytes.subarray(0, -4);
  return bytes.length > 4 && checksumOf(payload).equals(bytes.subarray(-4)) ? payload : undefined;
}

/** Writes bytes that do not begin with 0. */
export function encodeBase58Check(payload: Buffer): string {
  let value = BigInt(`0x${Buffer.concat([payload, checksumOf(payload)]).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = alphabet[Number(value % 58n)] + text;
  return text;
}

const checksumOf = (payload: Buffer): Buffer =>
  hash('sha256', hash('sha256', payload, 'buffer'), 'buffer').subarray(0, 4);
