import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { canRun } from './can-run.ts';
import { findFreePort } from './free-port.ts';

/** A ClickHouse server for tests. */
export interface TestClickHouse {
  /** `http://127.0.0.1:PORT`; the same after `kill` and `start`. */
  url: string;
  /** Password of the user `default`. */
  password: string;
  /** Runs a statement. @returns the lines of the response @throws the text of an error */
  query(sql: string): Promise<string[]>;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Starts it again with the same data. */
  start(): Promise<void>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

const password = 'a "pass" & word?';
const users = `<yandex>
  <profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
  <users><default>
    <password>${password.replaceAll('&', '&amp;')}</password>
    <networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
  </default></users>
  <quotas><default/></quotas>
</yandex>`;

/**
 * Starts the installed ClickHouse on a free port of the loopback.
 *
 * @returns `skipped`: the reason why this machine cannot run one
 * @throws if it is installed and does not start
 */
export async function startClickHouse(): Promise<TestClickHouse | { skipped: string }> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  const program = folders.map((folder) => join(folder, 'clickhouse-server')).find(canRun);
  if (program === undefined) return { skipped: 'clickhouse-server is not installed' };
  const folder = await mkdtemp(join(tmpdir(), 'headgate-clickhouse-'));
  const port = await findFreePort();
  const file = join(folder, 'config.xml');
  await writeFile(join(folder, 'users.xml'), users);
  for (const name of ['data', 'tmp', 'files']) await mkdir(join(folder, name));
  await writeFile(
    file,
    `<yandex>
      <logger><level>warning</level><log>${folder}/log</log><errorlog>${folder}/errors</errorlog></logger>
      <http_port>${port}</http_port><listen_host>127.0.0.1</listen_host>
      <path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path><user_files_path>${folder}/files/</user_files_path>
      <users_config>users.xml</users_config><default_profile>default</default_profile>
      <default_database>default</default_database><mark_cache_size>1000000</mark_cache_size>
      <interserver_http_host>localhost</interserver_http_host>
    </yandex>`,
  );
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const killNow = () => child?.kill('SIGKILL');
  process.once('exit', killNow); // stop() was not called

  async function start(): Promise<void> {
    const started = spawn(program!, [`--config-file=${file}`], { stdio: 'ignore', cwd: folder });
    child = started;
    while (started.exitCode === null && started.signalCode === null) {
      const response = await fetch(`${url}/ping`).catch(() => undefined);
      if (response?.ok) return;
      await delay(50);
    }
    throw new Error(`${program} does not start.`);
  }
  async function kill(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  await start();
  return {
    url,
    password,
    start,
    kill,
    async query(sql) {
      const headers = { 'x-clickhouse-user': 'default', 'x-clickhouse-key': password };
      const response = await fetch(url, { method: 'POST', body: sql, headers });
      const text = await response.text();
      if (!response.ok) throw new Error(text);
      return text.split('\n').filter((line) => line !== '');
    },
    async stop() {
      process.off('exit', killNow);
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
