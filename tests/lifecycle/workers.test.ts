import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect } from 'vitest';
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
import { expectOneMemory, memoryProviders } from './one-memory.ts';

afterEach(async () => {
  hangUp();
  await cleanUp();
});

/** With a log line for each request, which names the worker. */
const start = ({ count = 2, ...options }: StartOptions & { count?: number } = {}) =>
  startGateway({ args: ['--workers', String(count)], env: { HEADGATE_LOG_LEVEL: 'debug' }, ...options });
const startFour = (options: StartOptions = {}) => start({ count: 4, ...options });

/** So many that each of four workers has two of them: connections go to whoever has the fewest. */
const connectAll = (gateway: GatewayProcess): Client[] => Array.from({ length: 8 }, () => connect(gateway));

/** Who served requests, by the log. */
const served = ({ running }: GatewayProcess): number[] =>
  [
    ...new Set([...running.stderr.matchAll(/"worker":(\d+).*"generation_id"/g)].map(([, worker]) => Number(worker))),
  ].sort();
/** By slot; of those that were replaced the last. */
const readPids = ({ running }: GatewayProcess): Map<number, number> =>
  new Map(
    [...running.stderr.matchAll(/"pid":(\d+),.*"worker":(\d+).*"generation_id"/g)].map(([, pid, worker]) => [
      Number(worker),
      Number(pid),
    ]),
  );
/** Waits until the log has named so many workers: it may come later than the answer. */
async function untilKnown(gateway: GatewayProcess, count: number): Promise<Map<number, number>> {
  await expect.poll(() => readPids(gateway).size).toBeGreaterThanOrEqual(count);
  return readPids(gateway);
}
/** Asks over new connections until another process answers as worker 0. */
async function untilReplaced(gateway: GatewayProcess, pid: number): Promise<void> {
  const look = async () => {
    await ask(connect(gateway)).catch(() => {});
    return readPids(gateway).get(0);
  };
  await expect.poll(look, { timeout: 10_000, interval: 20 }).not.toBe(pid);
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

/** Run in a process before anything else: writes a byte for each sync. */
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

describe('headgate start --workers', { timeout: 60_000 }, () => {
  quick('serves from all workers; each answer is in the ledger once, and found at once by any of them', async () => {
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

  long('remembers as one how endpoints do and where sessions went', async () => {
    const gateway = await startFour({ config: { providers: memoryProviders } });
    const [near, ...far] = connectAll(gateway);
    await expectOneMemory(near!, far.slice(0, 3));
    await expect.poll(() => served(gateway)).toEqual([0, 1, 2, 3]);
  });

  long('shows the numbers of all workers from any of them, and never less than before', async () => {
    const gateway = await startFour();
    const clients = connectAll(gateway);
    await askAll(clients);
    const total = 'headgate_responses_total{model="simulator/echo",provider="simulator",status="2xx",streamed="false"}';
    const byWorker = [0, 1, 2, 3].map((worker) => `headgate_worker_requests_total{worker="${worker}"}`);
    // Answers are counted when they have left, which a client may see first.
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

  long('keeps what a worker counted that nobody has asked it for when it is killed', async () => {
    const gateway = await start();
    const [client, ofOther] = [connect(gateway), connect(gateway)];
    await ask(client);
    const [free] = [...(await untilKnown(gateway, 1)).keys()];
    for (let time = 0; time < 3; time++) await ask(ofOther);
    const killed = free === 0 ? 1 : 0;
    const pid = (await untilKnown(gateway, 2)).get(killed)!;
    const ofKilled = `headgate_worker_requests_total{worker="${killed}"}`;
    // A stopped one answers nobody: what is shown of it, it told unasked.
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
    await expect.poll(look, { timeout: 20_000 }).toBe(3);
    process.kill(pid, 'SIGKILL');
    await expect
      .poll(async () => (await readNumbers(client)).get('headgate_worker_restarts_total'), { timeout: 10_000 })
      .toBe(1);
    const later = await readNumbers(client);
    const total = 'headgate_responses_total{model="simulator/echo",provider="simulator",status="2xx",streamed="false"}';
    expect([later.get(ofKilled), later.get(total)]).toEqual([3, 4]);
  });

  long('prints the URL and the first keys once, and all workers know the keys', async () => {
    const gateway = await start({ config: null });
    const keys = gateway.running.stdout.match(/sk-rt-v1-[0-9a-f]{64}/g)!;
    expect([...new Set(keys)]).toHaveLength(1);
    expect(statusesOf(await askAll(connectAll(gateway), keys[0]))).toEqual([200]);
    expect(gateway.running.stdout.match(/is up: /g)).toHaveLength(1);
  });

  quick('manages keys from any worker; one that is disabled under load is refused by all within a second', async () => {
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
    // A second, and as much again for a machine that does other things, too.
    for (const at of await Promise.all(refusedAt)) expect(at - disabledAt).toBeLessThan(2000);
    await expect.poll(() => served(gateway)).toEqual([0, 1, 2, 3]);
  });

  long('follows in all workers what a workspace says for its requests', async () => {
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

  quick('replaces a worker that is killed under load, and loses no answer that was given', async () => {
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
        ); // cut by the kill
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

  long('goes on while a worker hangs, says so in the numbers, and loses nothing of it', async () => {
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
  });

  long('neither waits for a worker that hangs to reload, nor to end, and says so', async () => {
    const gateway = await start({ config: { limits: { requests_per_minute: 100 } } });
    const [client, ofOther] = [connect(gateway), connect(gateway)];
    const answers = [await ask(client)];
    const [free] = (await untilKnown(gateway, 1)).values();
    answers.push(await ask(ofOther));
    const hanging = [...(await untilKnown(gateway, 2)).values()].find((pid) => pid !== free)!;
    process.kill(hanging, 'SIGSTOP');
    writeConfig(gateway.folder, { limits: { requests_per_minute: 1 } });
    const told = () => gateway.running.stderr;
    await expect.poll(told, { timeout: 30_000 }).toContain(`(process ${hanging}) hangs: it has not answered`);
    expect(told()).toContain('"msg":"config rejected"');
    answers.push(await ask(client));
    expect(statusesOf(answers)).toEqual([200]);

    expect(await gateway.end()).toBe(0);
    expect(told()).toContain(`"pid":${hanging},"reason":"unresponsive","msg":"worker killed"`);
    expect([free!, hanging].map(isAlive)).toEqual([false, false]);
    expect(readLedger(gateway.folder)).toEqual(idsOf(answers));
  });

  quick(
    'drains all workers on SIGTERM: open streams end well, new work is answered 503, then it exits with 0',
    async () => {
      const gateway = await start();
      const slow = { input: '[[slow 20]] [[words 60]]', stream: true };
      const streams = await Promise.all(Array.from({ length: 8 }, () => openStream(gateway.post(slow))));
      await Promise.all(streams.map((stream) => stream.readUntil('response.output_text.delta')));
      gateway.running.child.kill('SIGTERM');
      await expect.poll(async () => (await connect(gateway)('GET', '/ready')).status).toBe(503);
      expect((await ask(connect(gateway))).status).toBe(503);

      for (const stream of streams)
        expect(await stream.readAll()).toMatch(/response\.completed.*\n\ndata: \[DONE\]\n\n$/s);
      expect(await gateway.running.ended).toBe(0);
      expect(readLedger(gateway.folder)).toEqual(streams.map(({ id }) => id).sort());
    },
  );

  long('ends at once, with all its workers, on a second signal; a signal to a worker alone means nothing', async () => {
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
    await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([]); // some systems are slow to forget them
    await stream.readAll().catch(() => {});
  });

  long(
    'lets workers end what they have begun when the first process is killed, and then end; nothing is lost',
    async () => {
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

      // The folder is free, though one of the workers still writes its journal.
      const again = await startGateway({ folder: gateway.folder });
      expect(await stream.readAll()).toMatch(/response\.completed.*\n\ndata: \[DONE\]\n\n$/s);
      await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([]);
      const ids = [...answers.map(({ id }) => id), stream.id];
      const client = connect(again);
      for (const id of ids) {
        const status = async () => (await client('GET', `/api/v1/generation?id=${id}`)).status;
        await expect.poll(status, { timeout: 5000 }).toBe(200);
      }
      expect(await again.end()).toBe(0);
      expect(readLedger(gateway.folder)).toEqual(ids.sort());
    },
  );

  long('takes a saved file over in all workers, and keeps the old one in all when it is bad', async () => {
    const simulator = (...models: string[]) => ({
      providers: [{ id: 'sim', wire: 'simulator', models: models.map((model) => ({ model, upstream_model: 'echo' })) }],
    });
    const gateway = await start({ config: simulator('old/model') });
    const clients = connectAll(gateway);
    const askFor = (model: string) => () =>
      Promise.all(clients.map((client) => client('POST', '/api/v1/responses', { body: { model, input: 'hi' } })));
    expect(statusesOf(await askFor('old/model')())).toEqual([200]);

    writeConfig(gateway.folder, simulator('old/model', 'new/model'));
    await expect.poll(async () => statusesOf(await askFor('new/model')()), { timeout: 5000 }).toEqual([200]);
    writeConfig(gateway.folder, { ...simulator('newest/model'), catalog: { overrides: 'not-there.yaml' } });
    await expect.poll(() => gateway.running.stderr, { timeout: 5000 }).toContain('config rejected');
    expect(statusesOf(await askFor('newest/model')())).toEqual([400]);
    expect(statusesOf(await askFor('new/model')())).toEqual([200]);

    // Whoever takes a worker's place has the file of now.
    const pid = (await untilKnown(gateway, 2)).get(0)!;
    process.kill(pid, 'SIGKILL');
    await untilReplaced(gateway, pid);
    for (let turn = 0; turn < 4; turn++) {
      const answer = await connect(gateway)('POST', '/api/v1/responses', { body: { model: 'new/model', input: 'hi' } });
      expect(answer.status).toBe(200);
    }
  });

  long(
    'says that the port is in use, once, and exits with 1; as it does with a number that makes no sense',
    async () => {
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
    },
  );

  long.each([
    ['strict', true],
    ['standard', false],
  ])('sync each entry before its response ends where the ledger is to be %s', async (durability, isSynced) => {
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
