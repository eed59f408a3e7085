import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createConnectionDispatcher, type ConnectionDispatcher } from './connection-dispatcher.ts';

const doors: ConnectionDispatcher[] = [];
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const dispatcher of doors.splice(0)) await dispatcher.close();
});

async function openDoor() {
  const dispatcher = createConnectionDispatcher();
  doors.push(dispatcher);
  const port = await dispatcher.listen('127.0.0.1', 0);
  return {
    dispatcher,
    async call(): Promise<Socket> {
      const client = connect(port, '127.0.0.1').on('error', () => {});
      clients.push(client);
      await once(client, 'connect');
      return client;
    },
  };
}

/** A worker that confirms each connection when the test says so. */
function hire(dispatcher: ConnectionDispatcher) {
  const end = new AbortController();
  const sent: { connection: number; socket: Socket }[] = [];
  const service = dispatcher.open({ gone: end.signal }, (connection, socket) => void sent.push({ connection, socket }));
  return { sent, service, die: () => end.abort() };
}

describe('the connection dispatcher', () => {
  it('sends a connection to the worker that has the fewest, and alternates between equal ones', async () => {
    const { dispatcher, call } = await openDoor();
    const [one, two] = [hire(dispatcher), hire(dispatcher)];
    const both = () => [one.sent.length, two.sent.length];
    for (const expected of [
      [1, 0],
      [1, 1],
      [2, 1],
      [2, 2],
    ]) {
      await call();
      await expect.poll(both).toEqual(expected);
    }
    for (const { sent, service } of [one, two]) for (const { connection } of sent) service.taken(connection);
    for (let at = 0; at < 2; at++) one.service.closed();
    for (const expected of [
      [3, 2],
      [4, 2],
    ]) {
      await call();
      await expect.poll(both).toEqual(expected);
      one.service.taken(one.sent.at(-1)!.connection);
    }
  });

  it('sends no further connection to a worker that has not confirmed the last one, if another one has', async () => {
    const { dispatcher, call } = await openDoor();
    const [busy, idle] = [hire(dispatcher), hire(dispatcher)];
    await call();
    await expect.poll(() => busy.sent.length).toBe(1);
    for (let at = 1; at <= 5; at++) {
      await call();
      await expect.poll(() => idle.sent.length).toBe(at);
      idle.service.taken(idle.sent.at(-1)!.connection);
    }
    expect(busy.sent).toHaveLength(1);
  });

  it('sends unconfirmed connections of a dead worker to another one, and closes the confirmed ones', async () => {
    const { dispatcher, call } = await openDoor();
    const dying = hire(dispatcher);
    await call();
    await expect.poll(() => dying.sent.length).toBe(1);
    dying.service.taken(dying.sent[0]!.connection);
    const unseen = await call();
    await expect.poll(() => dying.sent.length).toBe(2);
    const other = hire(dispatcher);
    dying.die();

    expect(other.sent.map(({ socket }) => socket.remotePort)).toEqual([unseen.localPort]);
    const received = once(unseen, 'data');
    other.sent[0]!.socket.write('hello');
    expect(String((await received)[0])).toBe('hello');
  });

  it('queues connections while there is no worker', async () => {
    const { dispatcher, call } = await openDoor();
    const first = hire(dispatcher);
    first.die();
    const client = await call();
    const { sent } = hire(dispatcher);
    await expect.poll(() => sent.map(({ socket }) => socket.remotePort)).toEqual([client.localPort]);
  });

  it('reports a port in use like the system, and can be closed afterwards', async () => {
    const { call } = await openDoor();
    const { remotePort } = await call();
    const second = createConnectionDispatcher();
    await expect(second.listen('127.0.0.1', remotePort!)).rejects.toMatchObject({
      code: 'EADDRINUSE',
      syscall: 'listen',
    });
    await second.close();
  });
});
