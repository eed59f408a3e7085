import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Encodes 8-bit RGB pixels as a PNG.
 *
 * @param pixels `width * height * 3` bytes, row by row from the top
 * @see https://www.w3.org/TR/png-3/
 */
export function encodePng(width: number, height: number, pixels: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8); // 8 bits, color type RGB, the only compression and filtering, not interlaced
  const rowLength = width * 3;
  const rows = Buffer.alloc((rowLength + 1) * height); // each row starts with its filter type, 0: none
  for (let y = 0; y < height; y++) {
    rows.set(pixels.subarray(y * rowLength, (y + 1) * rowLength), y * (rowLength + 1) + 1);
  }
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND')]);
}

function chunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const bytes = Buffer.alloc(typed.length + 8);
  bytes.writeUInt32BE(data.length, 0);
  typed.copy(bytes, 4);
  bytes.writeUInt32BE(crc32(typed), typed.length + 4);
  return bytes;
}
