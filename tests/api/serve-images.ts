import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';

/**
 * A process that responds to every generation with an image of about 4 MB, the size of 1,184 × 1,184 pixels of noise.
 * It prints its URL.
 */
const edge = 1184;
const noise = randomBytes(edge * edge * 3);
const image = await sharp(noise, { raw: { width: edge, height: edge, channels: 3 } })
  .png({ compressionLevel: 0 })
  .toBuffer();
const body = Buffer.from(JSON.stringify({ created: 1, data: [{ b64_json: image.toString('base64') }] }));

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on a port
  process.stdout.write(`http://127.0.0.1:${port}/v1 ${image.length}\n`);
});
