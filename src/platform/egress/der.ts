/** Elements of X.690, as far as certificates need them. */

/** Writes an element: tag, length, contents. */
export function writeElement(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(body.length);
  const digits = size.subarray(size.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.from([tag, 0x80 | digits.length]), digits, body]);
}

export const writeSequence = (...contents: readonly Uint8Array[]): Buffer => writeElement(0x30, ...contents);
export const writeTrue = (): Buffer => writeElement(0x01, Buffer.from([0xff]));
export const writeOctets = (bytes: Uint8Array): Buffer => writeElement(0x04, bytes);
/** @param unused bits at the end of the last byte */
export const writeBits = (bytes: Uint8Array, unused = 0): Buffer => writeElement(0x03, Buffer.from([unused]), bytes);

/** @param bytes of a number that is not negative, the highest first */
export const writeInteger = (bytes: Uint8Array): Buffer =>
  (bytes[0] ?? 0) < 128 ? writeElement(0x02, bytes) : writeElement(0x02, Buffer.from([0]), bytes);

/** @param text such as `2.5.29.17` */
export function writeObjectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((part) => {
    const digits = [part & 127];
    for (let left = part >>> 7; left > 0; left >>>= 7) digits.unshift(128 | (left & 127));
    return digits;
  });
  return writeElement(0x06, Buffer.from(bytes));
}

/** X.509 writes years before 2050 with two digits. @see RFC 5280 section 4.1.2.5 */
export function writeTimeElement(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\.\d+|[^\dZ]/g, '');
  const isShort = digits < '2050';
  return writeElement(isShort ? 0x17 : 0x18, Buffer.from(isShort ? digits.slice(2) : digits, 'latin1'));
}
