/*
 * An agent for tests: the text of a message is a list of steps as JSON, which it performs. Its pages show the request, and its
 * WebSockets return what they receive.
 */
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const answers = new EventTarget();
const CRASHED = `${process.env.HOME}/crashed`;
let listens = false;

/**
 * A string is written as it is, an object as an event. `wait`: for an answer; `listen`: for another message; `hang`: for ever;
 * `crash`: ends the agent, which then never starts again; `reject`: a status.
 */
async function run(steps, response) {
  for (const step of steps) {
    if (step.reject) return response.writeHead(step.reject).end();
    if (!response.headersSent) response.writeHead(200).flushHeaders();
    if (step === 'hang') return undefined;
    if (step === 'wait') await once(answers, 'answer');
    else if (step === 'listen') {
      listens = true;
      await once(answers, 'input');
    } else if (step === 'crash') {
      writeFileSync(CRASHED, '');
      response.socket.write('', () => process.exit(1)); // what was written before has left
      return undefined;
    } else if (step.flood) response.write(`${JSON.stringify({ type: 'text', text: 'x'.repeat(step.flood) })}\n`);
    else response.write(typeof step === 'string' ? step : `${JSON.stringify(step)}\n`);
  }
  return response.end();
}

createServer(async (request, response) => {
  const [, prefix, name, id, action] = request.url.split('/');
  if (prefix !== '.headgate') return response.end(`page ${request.method} ${request.url} ${await text(request)}`);
  if (!request.headers['headgate-signature']) return response.writeHead(401).end();
  const body = await text(request);
  if (name === 'runs' && id === undefined) return run(JSON.parse(JSON.parse(body).input), response);
  if (action === 'interactions') answers.dispatchEvent(new Event('answer'));
  if (action !== 'input') return response.end('{}');
  response.writeHead(listens ? 202 : 409).end('{}');
  listens = false;
  return answers.dispatchEvent(new Event('input'));
})
  .on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
    socket.on('error', () => {}).pipe(socket);
  })
  .listen(existsSync(CRASHED) ? '/tmp/unreachable' : { port: Number(process.env.PORT), host: '127.0.0.1' });
