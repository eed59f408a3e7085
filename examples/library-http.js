/*
 * The gateway inside a server of `node:http`, next to routes of your own.
 *
 *   npm install headgate
 *   node library-http.js
 */
import { createServer } from 'node:http';
import { createGateway } from 'headgate';

const gateway = await createGateway({ dataDir: process.env.DATA });
if (gateway.firstKeys) console.log(`The key of the first start is ${gateway.firstKeys.inference}`);

const server = createServer((request, response) => {
  if (request.url === '/hello') response.end('Hello from the shop.\n');
  else gateway.handle(request, response);
});
server.on('upgrade', gateway.upgrade); // responses over WebSocket
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});

process.once('SIGTERM', async () => {
  server.close();
  await gateway.close(); // requests in flight end first
});
