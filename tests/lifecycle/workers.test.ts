import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, onTestFinished } from 'vitest';
import { long, quick } from '../../src/testing/full.ts';
import { testKeys } from '../../src/testing/index.ts';
import { type Answer, ask, type Client, connect, hangUp, idsOf, readNumbers, statusesOf } from './client.ts';
import {
  cleanUp,
  type GatewayProcess,
  makeFolder,
  openStream,
  run,
  type StartOptions,
  startGateway,
  writeConfig,
} from './gateway-process.ts';
import { heldModel, startHeldUpstream } from './held-upstream.ts';
import { expectOneMemory, memoryProviders } from './one-memory.ts';

afterEach(async () => {
  hangUp();
  await cleanUp();
});

/** Starts a gateway that logs each request with its worker. */
const start = ({ count = 2, ...options }: StartOptions & { count?: number } = {}) =>
  startGateway({ args: ['--workers', String(count)], env: { HEADGATE_LOG_LEVEL: 'debug' }, ...options });
const startFour = (options: StartOptions = {}) => start({ count: 4, ...options });

/** Opens so many connections that each of four workers has two: a connection goes to the worker with the fewest. */
const connectAll = (gateway: GatewayProcess): Client[] => Array.from({ length: 8 }, () => connect(gateway));

/** Returns the workers that served requests, by the log. */
const served = ({ running }: GatewayProcess): number[] =>
  [
    ...new Set([...running.stderr.matchAll(/"worker":(\d+).*"generation_id"/g)].map(([, worker]) => Number(worker))),
  ].sort();
/** Process ids by worker slot. The last one counts. */
const readPids = ({ running }: GatewayProcess): Map<number, number> =>
  new Map(
    [...running.stderr.matchAll(/"pid":(\d+),.*"worker":(\d+).*"generation_id"/g)].map(([, pid, worker]) => [
      Number(worker),
      Number(pid),
    ]),
  );
/** Waits until the log names so many workers. It may lag behind the response. */
async function untilKnown(gateway: GatewayProcess, count: number): Promise<Map<number, number>> {
  await expect.poll(() => readPids(gateway).size).toBeGreaterThanOrEqual(count);
  return readPids(gateway);
}
/** Sends requests over new connections until another process responds as worker 0. */
async function untilReplaced(gateway: GatewayProcess, pid: number): Promise<void> {
  const look = async () => {
    await ask(connect(gateway)).catch(() => {});
    return readPids(gateway).get(0);
  };
  await expect.poll(look, { interval: 20 }).not.toBe(pid);
  const line = gateway.running.stderr.split('\n').find((text) => text.includes('"msg":"worker ended"')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ worker: 0, ending: 'SIGKILL' });
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Writes a byte for each sync of a process. Runs before anything else. */
const countSyncs = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
const { fdatasync } = fs;
fs.fdatasync = (...values) => {
  fs.appendFileSync(process.env.SYNC_LOG, '.');
  fdatasync(...values);
};
syncBuiltinESMExports();`;

function readLedger(folder: string): string[] {
  const database = new DatabaseSync(join(folder, 'data', 'headgate.db'), { readOnly: true });
  const rows = database.prepare('select id from ledger').all();
  database.close();
  return rows.map(({ id }) => String(id)).sort();
}
const askAll = (clients: readonly Client[], key?: string) => Promise.all(clients.map((client) => ask(client, key)));

describe('headgate start --workers', () => {
  quick('serves from all workers; each response is in the ledger once, and every worker finds it at once', async () => {
    const gateway = await startFour();
    const clients = connectAll(gateway);
    const answers = [...(await askAll(clients)), ...(await askAll(clients)), await ask(clients[0]!)];
    expect(statusesOf(answers)).toEqual([200]);
    await expect.poll(() => served(gateway)).toEqual([0, 1, 2, 3]);
    const last = answers.at(-1)!.id;
    const found = await Promise.all(clients.map((client) => client('GET', `/api/v1/generation?id=${last}`)));
    expect(statusesOf(found)).toEqual([200]);

    expect(await gateway.end()).toBe(0);
    expect(readLedger(gateway.folder)).toEqual(idsOf(answers));
    expect(readdirSync(join(gateway.folder, 'data', 'journal'))).toEqual([]);
  });

  long('shares the health of endpoints and the routes of sessions', async () => {
    const gateway = await startFour({ config: { providers: memoryProviders } });
    const [near, ...far] = connectAll(gateway);
    await expectOneMemory(near!, far.slice(0, 3));
    await expect.poll(() => served(gateway)).toEqual([0, 1, 2, 3]);
  });

  long('returns the metrics of all workers from any of them, and never lower ones than before', async () => {
    const gateway = await startFour();
    const clients = connectAll(gateway);
    await askAll(clients);
    const total = 'headgate_responses_total{model="simulator/echo",provider="simulator",status="2xx",streamed="false"}';
    const byWorker = [0, 1, 2, 3].map((worker) => `headgate_worker_requests_total{worker="${worker}"}`);
    // Responses are counted after they are sent.
    for (const client of clients) await expect.poll(async () => (await readNumbers(client)).get(total)).toBe(8);
    const numbers = await readNumbers(clients[0]!);
    expect(byWorker.map((name) => numbers.get(name)! >= 2)).toEqual([true, true, true, true]);
    expect(numbers.get('headgate_open_requests')).toBe(0);
    expect(numbers.get('headgate_worker_restarts_total')).toBe(0);

    const pid = (await untilKnown(gateway, 4)).get(0)!;
    process.kill(pid, 'SIGKILL');
    await untilReplaced(gateway, pid);
    const later = await readNumbers(connect(gateway));
    expect(later.get(total)).toBeGreaterThan(8);
    expect(later.get('headgate_worker_restarts_total')).toBe(1);
  });

  long('keeps the counts of a killed worker that were never read', async () => {
    const gateway = await start();
    const [client, ofOther] = [connect(gateway), connect(gateway)];
    await ask(client);
    const [free] = [...(await untilKnown(gateway, 1)).keys()];
    for (let time = 0; time < 3; time++) await ask(ofOther);
    const killed = free === 0 ? 1 : 0;
    const pid = (await untilKnown(gateway, 2)).get(killed)!;
    const ofKilled = `headgate_worker_requests_total{worker="${killed}"}`;
    // A stopped worker does not respond: it has pushed what is shown of it.
    const look = async () => {
      process.kill(pid, 'SIGSTOP');
      try {
        const numbers = await readNumbers(client);
        expect(numbers.get(`headgate_worker_up{worker="${killed}"}`)).toBe(0);
        return numbers.get(ofKilled);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
    };
    await expect.poll(look).toBe(3);
    process.kill(pid, 'SIGKILL');
    await expect.poll(async () => (await readNumbers(client)).get('headgate_worker_restarts_total')).toBe(1);
    const later = await readNumbers(client);
    const total = 'headgate_responses_total{model="simulator/echo",provider="simulator",status="2xx",streamed="false"}';
    expect([later.get(ofKilled), later.get(total)]).toEqual([3, 4]);
  });

  long('prints the URL and the first keys once, and all workers accept the keys', async () => {
    const gateway = await start({ config: null });
    const keys = gateway.running.stdout.match(/sk-rt-v1-[0-9a-f]{64}/g)!;
    expect([...new Set(keys)]).toHaveLength(1);
    expect(statusesOf(await askAll(connectAll(gateway), keys[0]))).toEqual([200]);
    expect(gateway.running.stdout.match(/is up: /g)).toHaveLength(1);
  });

  quick('manages keys from any worker; all reject a key soon after it was disabled under load', async () => {
    const gateway = await startFour();
    const clients = connectAll(gateway);
    const manage = { key: testKeys.managementKey };
    const made = await Promise.all(
      clients.map((client, at) => {
        const body = { name: `key ${at}`, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
        return client('POST', '/api/v1/keys', { ...manage, body });
      }),
    );
    expect(statusesOf(made)).toEqual([201]);
    const { key, data } = JSON.parse(made[0]!.body) as { key: string; data: { hash: string } };
    await expect.poll(async () => statusesOf(await askAll(clients, key)), { interval: 10 }).toEqual([200]);
    const lists = await Promise.all(clients.map((client) => client('GET', '/api/v1/keys', manage)));
    for (const list of lists) expect(JSON.parse(list.body).data).toHaveLength(clients.length + 1);

    const refusedAt = clients.map(async (client) => {
      while ((await ask(client, key)).status === 200);
      return performance.now();
    });
    const disabled = await connect(gateway)('PATCH', `/api/v1/keys/${data.hash}`, {
      ...manage,
      body: { disabled: true },
    });
    const disabledAt = performance.now();
    expect(disabled.status).toBe(200);
    // Within a second on an idle machine.
    for (const at of await Promise.all(refusedAt)) expect(at - disabledAt).toBeLessThan(20_000);
    await expect.poll(() => served(gateway)).toEqual([0, 1, 2, 3]);
  });

  long('applies the settings of a workspace in all workers', async () => {
    const gateway = await startFour();
    const clients = connectAll(gateway);
    const settle = (default_text_model: string | null) =>
      connect(gateway)('PATCH', '/api/v1/workspaces/00000000-0000-4000-8000-0000000000a1', {
        key: testKeys.managementKey,
        body: { default_text_model },
      });
    const models = async () => {
      const answers = await Promise.all(
        clients.map((client) => client('POST', '/api/v1/responses', { body: { input: 'x' } })),
      );
      return [...new Set(answers.map(({ status, body }) => (status === 200 ? JSON.parse(body).model : status)))];
    };
    expect(await models()).toEqual([400]);
    for (const model of ['simulator/echo', 'simulator/writer']) {
      expect((await settle(model)).status).toBe(200);
      await expect.poll(models).toEqual([model]);
    }
    await settle(null);
    await expect.poll(models).toEqual([400]);
    await expect.poll(() => served(gateway)).toEqual([0, 1, 2, 3]);
  });

  quick('replaces a worker that is killed under load, and loses no response that was sent', async () => {
    const gateway = await start();
    const clients = connectAll(gateway);
    await askAll(clients);
    const pid = (await untilKnown(gateway, 2)).get(0)!;
    const answered: Answer[] = [];
    let isOver = false;
    const load = clients.map(async (client) => {
      while (!isOver)
        await ask(client).then(
          (answer) => answered.push(answer),
          () => {},
        ); // interrupted by the kill
    });
    await expect.poll(() => answered.length, { interval: 5 }).toBeGreaterThan(50);
    process.kill(pid, 'SIGKILL');
    await untilReplaced(gateway, pid);
    isOver = true;
    await Promise.all(load);

    expect(statusesOf(answered)).toEqual([200]);
    expect(await gateway.end()).toBe(0);
    const booked = readLedger(gateway.folder);
    expect(new Set(booked).size).toBe(booked.length);
    const known = new Set(booked);
    expect(answered.filter(({ id }) => !known.has(id))).toEqual([]);
    expect(readdirSync(join(gateway.folder, 'data', 'journal'))).toEqual([]);
  });

  long(
    'continues while a worker is unresponsive, shows it in the metrics, and loses none of its requests',
    async () => {
      const gateway = await start();
      const [client, ofOther] = [connect(gateway), connect(gateway)];
      await ask(client);
      const [free] = [...(await untilKnown(gateway, 1)).keys()];
      await ask(ofOther);
      const hanging = free === 0 ? 1 : 0;
      const pid = (await untilKnown(gateway, 2)).get(hanging)!;
      process.kill(pid, 'SIGSTOP');
      try {
        const late = ask(ofOther);
        expect((await client('GET', '/api/v1/generation?id=gen-unknown')).status).toBe(404);
        expect((await ask(client)).status).toBe(200);
        const numbers = await readNumbers(client);
        expect(numbers.get(`headgate_worker_up{worker="${hanging}"}`)).toBe(0);
        expect(numbers.get(`headgate_worker_up{worker="${free}"}`)).toBe(1);
        process.kill(pid, 'SIGCONT');
        expect((await late).status).toBe(200);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await expect.poll(async () => (await readNumbers(client)).get(`headgate_worker_up{worker="${hanging}"}`)).toBe(1);
    },
  );

  long('waits for an unresponsive worker neither to reload nor to shut down, and logs it', async () => {
    const gateway = await start({ config: { limits: { requests_per_minute: 100 } } });
    const [client, ofOther] = [connect(gateway), connect(gateway)];
    const answers = [await ask(client)];
    const [free] = (await untilKnown(gateway, 1)).values();
    answers.push(await ask(ofOther));
    const hanging = [...(await untilKnown(gateway, 2)).values()].find((pid) => pid !== free)!;
    process.kill(hanging, 'SIGSTOP');
    writeConfig(gateway.folder, { limits: { requests_per_minute: 1 } });
    const readLog = () => gateway.running.stderr;
    await expect.poll(readLog).toContain(`(process ${hanging}) hangs: it has not answered`);
    expect(readLog()).toContain('"msg":"config rejected"');
    answers.push(await ask(client));
    expect(statusesOf(answers)).toEqual([200]);

    expect(await gateway.end()).toBe(0);
    expect(readLog()).toContain(`"pid":${hanging},"reason":"unresponsive","msg":"worker killed"`);
    expect([free!, hanging].map(isAlive)).toEqual([false, false]);
    expect(readLedger(gateway.folder)).toEqual(idsOf(answers));
  });

  quick('reports at /ready whether all workers respond, whichever serves the request', async () => {
    const gateway = await start();
    const clients = connectAll(gateway);
    await askAll(clients);
    const [pid, other] = [...(await untilKnown(gateway, 2)).values()] as [number, number];
    const ready = async () => JSON.parse((await connect(gateway)('GET', '/ready')).body) as unknown;
    expect(await ready()).toEqual({ status: 'ready' });
    process.kill(pid, 'SIGSTOP');
    const read = () => Promise.any([ready(), ready()]); // one of two connections goes to the other worker
    await expect.poll(read).toEqual({ status: 'ready', workers: '1 of 2 respond' });
    process.kill(pid, 'SIGCONT');
    await expect.poll(ready).toEqual({ status: 'ready' });
    expect([pid, other].map(isAlive)).toEqual([true, true]);
  });

  quick('drains all workers on SIGTERM: open streams finish, new requests get 503, then it exits with 0', async () => {
    const held = await startHeldUpstream();
    onTestFinished(held.close);
    const gateway = await start({ config: { providers: held.providers, server: { drain_ms: 0 } } });
    const body = { model: heldModel, input: 'hi', stream: true };
    const streams = await Promise.all(Array.from({ length: 8 }, () => openStream(gateway.post(body))));
    await Promise.all(streams.map((stream) => stream.readUntil('response.output_text.delta')));
    gateway.running.child.kill('SIGTERM');
    await expect.poll(async () => (await connect(gateway)('GET', '/ready')).status).toBe(503);
    expect((await ask(connect(gateway))).status).toBe(503);

    held.release();
    for (const stream of streams)
      expect(await stream.readAll()).toMatch(/response\.completed.*\n\ndata: \[DONE\]\n\n$/s);
    expect(await gateway.running.ended).toBe(0);
    expect(readLedger(gateway.folder)).toEqual(streams.map(({ id }) => id).sort());
  });

  long('ends at once with all its workers on a second signal; a signal to a worker alone has no effect', async () => {
    const gateway = await start();
    const clients = connectAll(gateway);
    await askAll(clients);
    const pids = [...(await untilKnown(gateway, 2)).values()];
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pids[0]!, signal);
    expect(statusesOf(await askAll(clients))).toEqual([200]);

    const stream = await openStream(gateway.post({ input: '[[slow 1000]] [[words 1000]]', stream: true }));
    await stream.readUntil('response.output_text.delta');
    gateway.running.child.kill('SIGTERM');
    await expect.poll(() => gateway.running.stderr).toContain('shutdown started');
    expect(await gateway.end()).toBe(130);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]); // some systems list them for a moment
    await stream.readAll().catch(() => {});
  });

  long('lets workers finish their requests and end after the primary was killed; nothing is lost', async () => {
    const gateway = await start();
    const clients = connectAll(gateway);
    const answers = await askAll(clients);
    const pids = [...(await untilKnown(gateway, 2)).values()];
    const stream = await openStream(gateway.post({ input: '[[slow 20]] [[words 60]]', stream: true }));
    await stream.readUntil('response.output_text.delta');
    gateway.running.child.kill('SIGKILL');
    await expect
      .poll(() =>
        connect(gateway)('GET', '/health').then(
          () => 'served',
          () => 'refused',
        ),
      )
      .toBe('refused');

    // The folder is free, although one of the workers still writes its journal.
    const again = await startGateway({ folder: gateway.folder });
    expect(await stream.readAll()).toMatch(/response\.completed.*\n\ndata: \[DONE\]\n\n$/s);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
    const ids = [...answers.map(({ id }) => id), stream.id];
    const client = connect(again);
    for (const id of ids) {
      const status = async () => (await client('GET', `/api/v1/generation?id=${id}`)).status;
      await expect.poll(status).toBe(200);
    }
    expect(await again.end()).toBe(0);
    expect(readLedger(gateway.folder)).toEqual(ids.sort());
  });

  long('applies a saved file in all workers, and keeps the old one in all if it is invalid', async () => {
    const simulator = (...models: string[]) => ({
      providers: [{ id: 'sim', wire: 'simulator', models: models.map((model) => ({ model, upstream_model: 'echo' })) }],
    });
    const gateway = await start({ config: simulator('old/model') });
    const clients = connectAll(gateway);
    const askFor = (model: string) => () =>
      Promise.all(clients.map((client) => client('POST', '/api/v1/responses', { body: { model, input: 'hi' } })));
    expect(statusesOf(await askFor('old/model')())).toEqual([200]);

    writeConfig(gateway.folder, simulator('old/model', 'new/model'));
    await expect.poll(async () => statusesOf(await askFor('new/model')())).toEqual([200]);
    writeConfig(gateway.folder, { ...simulator('newest/model'), catalog: { overrides: 'not-there.yaml' } });
    await expect.poll(() => gateway.running.stderr).toContain('config rejected');
    expect(statusesOf(await askFor('newest/model')())).toEqual([400]);
    expect(statusesOf(await askFor('new/model')())).toEqual([200]);

    // A replacement worker has the current file.
    const pid = (await untilKnown(gateway, 2)).get(0)!;
    process.kill(pid, 'SIGKILL');
    await untilReplaced(gateway, pid);
    for (let turn = 0; turn < 4; turn++) {
      const answer = await connect(gateway)('POST', '/api/v1/responses', { body: { model: 'new/model', input: 'hi' } });
      expect(answer.status).toBe(200);
    }
  });

  long('reports once that the port is in use and exits with 1; also for an invalid number of workers', async () => {
    const gateway = await startGateway();
    const { port } = new URL(gateway.url);
    const second = run({ args: ['--workers', '2', '--port', port] });
    expect(await second.ended).toBe(1);
    expect(second.stderr).toBe(
      `headgate: Port ${port} of 127.0.0.1 is in use. Stop the program that listens there, or choose another one with --port.\n`,
    );
    expect(existsSync(join(second.folder, 'data', 'gateway.pid'))).toBe(false);

    const third = run({ args: ['--workers', 'many'] });
    expect(await third.ended).toBe(1);
    expect(third.stderr).toContain('--workers (server.workers): must be');
  });

  long.each([
    ['strict', true],
    ['standard', false],
  ])('syncs each entry before its response ends if ledger.durability is %s: %s', async (durability, isSynced) => {
    const folder = makeFolder();
    const log = join(folder, 'syncs');
    writeFileSync(log, '');
    const gateway = await start({
      folder,
      config: { ledger: { durability } },
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(countSyncs)}`, SYNC_LOG: log },
    });
    const clients = connectAll(gateway);
    for (let at = 0; at < 4; at++) {
      const before = statSync(log).size;
      const answer = await (at % 2 === 0
        ? ask(clients[at]!)
        : clients[at]!('POST', '/api/v1/responses', { body: { model: 'simulator/echo', input: 'hi', stream: true } }));
      expect(answer.status).toBe(200);
      expect(statSync(log).size > before).toBe(isSynced);
    }
    expect(await gateway.end()).toBe(0);
  });
});
