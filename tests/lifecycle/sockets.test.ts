import { afterEach, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { openSocket, type TestSocket, textOf } from '../api/open-socket.ts';
import { cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

afterEach(cleanUp);

const echo = { model: 'simulator/echo', input: 'hello', store: false };
const endless = { ...echo, input: `[[slow 50]] ${'word '.repeat(2000)}` };
const start = (count: number) =>
  startGateway({ args: ['--workers', String(count)], env: { HEADGATE_LOG_LEVEL: 'debug' } });
const openAll = ({ url }: GatewayProcess, count: number): Promise<TestSocket[]> =>
  Promise.all(Array.from({ length: count }, () => openSocket(`${url}/api/v1/responses`, testKeys.key)));
const responseOf = (events: Awaited<ReturnType<TestSocket['respond']>>) => events.at(-1)!['response'];
const readUntil = async (socket: TestSocket, type: string) => {
  for (let event = await socket.next(); ; event = await socket.next()) if (event.type === type) return event;
};

it('WebSockets at several workers each continue their own conversation, and a shutdown ends them with an event', async () => {
  const gateway = await start(2);
  const sockets = await openAll(gateway, 6);
  const first = await Promise.all(sockets.map((socket) => socket.respond(echo)));
  const second = await Promise.all(
    sockets.map((socket, index) =>
      socket.respond({ ...echo, input: 'again', previous_response_id: responseOf(first[index]!).id }),
    ),
  );
  expect(second.map((events) => [textOf(events), responseOf(events).status])).toEqual(
    sockets.map(() => ['again', 'completed']),
  );
  const workers = () =>
    new Set([...gateway.running.stderr.matchAll(/"worker":(\d+).*"generation_id"/g)].map(([, worker]) => worker));
  await expect.poll(() => workers().size).toBe(2);

  const ended = gateway.end();
  for (const socket of sockets) {
    expect(await socket.next()).toMatchObject({ error: { code: 'websocket_connection_limit_reached' } });
    expect(await socket.closed).toMatchObject({ code: 1001 });
  }
  expect(await ended).toBe(0);
});

it('a killed gateway breaks a WebSocket without a clean end, and the next one has the entry of its response', async () => {
  const gateway = await start(1);
  const [socket] = await openAll(gateway, 1);
  socket!.send({ type: 'response.create', ...endless });
  await readUntil(socket!, 'response.output_text.delta');
  await gateway.end('SIGKILL');
  expect(await socket!.closed).toEqual({ code: 1006, reason: '' });
  expect(socket!.events.map(({ type }) => type)).not.toContain('response.completed');

  const next = await startGateway({ folder: gateway.folder });
  const found = await next.get('/api/v1/generations?limit=5', testKeys.managementKey);
  expect(await found.json()).toMatchObject({
    data: [{ streamed: true, status: 503, error_type: 'gateway_stopped', usage_estimated: true }],
  });
});
