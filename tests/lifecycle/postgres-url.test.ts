import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { cleanUp, run, startGateway } from './gateway-process.ts';

const server = await startPostgres();
const skipped = 'skipped' in server ? ` (skipped: ${server.skipped})` : '';

describe.skipIf(skipped !== '')(`the URL of PostgreSQL${skipped}`, () => {
  const { url, createDatabase, stop } = server as TestPostgres;
  const password = 'p@ss/w#rd?50%';
  const folder = mkdtempSync(join(tmpdir(), 'headgate-certificates-'));
  const authority = join(folder, 'authority.pem');
  const other = join(folder, 'other.pem');

  /** Executes statements as the administrator. */
  async function execute(...statements: string[]): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: url, ssl: false });
    await client.connect();
    try {
      let rows: Record<string, unknown>[] = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      return rows;
    } finally {
      await client.end();
    }
  }
  /** Turns TLS of the server on or off. */
  async function setTls(isOn: boolean): Promise<void> {
    await execute(`alter system set ssl = ${isOn ? 'on' : 'off'}`, 'select pg_reload_conf()');
    await vi.waitFor(async () => expect(await execute('show ssl')).toEqual([{ ssl: isOn ? 'on' : 'off' }]), 10_000);
  }
  /** Writes a certificate for `example.org`, which is not the host of the server, and one that has not signed it. */
  function certify(data: string): void {
    const create = (key: string, certificate: string) =>
      execFileSync(
        'openssl',
        // biome-ignore format: a command
        ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', key,
          '-out', certificate, '-subj', '/CN=example.org', '-addext', 'subjectAltName=DNS:example.org'],
        { stdio: 'ignore' },
      );
    create(join(folder, 'other.key'), other);
    create(join(data, 'server.key'), join(data, 'server.crt'));
    writeFileSync(authority, readFileSync(join(data, 'server.crt')));
    const { uid, gid } = statSync(data);
    for (const name of ['server.key', 'server.crt']) chownSync(join(data, name), uid, gid);
    chmodSync(join(data, 'server.key'), 0o600);
  }

  beforeAll(async () => {
    const [row] = await execute(`create role ada superuser login password '${password}'`, 'show data_directory');
    const data = String(row!['data_directory']);
    const rules = join(data, 'pg_hba.conf');
    writeFileSync(rules, `host all ada 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`);
    certify(data);
    await setTls(true);
  });
  afterEach(cleanUp);
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await stop();
  });

  /** The URL of a new database, with a password that contains characters of URLs. */
  async function createUrl(query: string, user = `ada:${password}`): Promise<string> {
    const { host, pathname } = new URL(await createDatabase());
    return `postgres://${user}@${host}${pathname}${query}`;
  }
  const serve = async (query: string, env: Record<string, string> = {}, workers = '1') => {
    const gateway = await startGateway({
      config: null,
      args: ['--workers', workers],
      env: { ...env, DATABASE_URL: await createUrl(query) },
    });
    const connections = `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name like 'headgate%' and datname like 'test%'`;
    const found = await execute(connections);
    expect(await gateway.end()).toBe(0);
    return found.map(({ ssl }) => ssl);
  };
  const fail = async (query: string, user?: string) => {
    const running = run({ config: null, env: { DATABASE_URL: await createUrl(query, user) } });
    expect(await running.ended).toBe(1);
    return running.stderr;
  };

  it.each([
    ['', false],
    ['?sslmode=disable', false],
    ['?sslmode=prefer', true],
    ['?sslmode=require&channel_binding=require', true],
    ['?sslmode=no-verify', true],
    [`?sslmode=require&sslrootcert=${authority}`, true],
    [`?sslmode=verify-ca&sslrootcert=${authority}`, true],
  ])('connects with %j', async (query, isEncrypted) => {
    expect(await serve(query)).toEqual([isEncrypted]);
  });

  it('reads PGSSLMODE, also in workers', async () => {
    expect(await serve('', { PGSSLMODE: 'require' }, '2')).toEqual([true]);
  });

  it('connects with prefer to a server without TLS', async () => {
    await setTls(false);
    try {
      expect(await serve('?sslmode=prefer')).toEqual([false]);
      expect(await fail('?sslmode=require')).toContain('does not support SSL');
    } finally {
      await setTls(true);
    }
  });

  it.each([
    [`?sslmode=verify-full&sslrootcert=${authority}`, "does not match certificate's altnames"],
    [`?sslrootcert=${authority}`, "does not match certificate's altnames"],
    [`?sslmode=verify-ca&sslrootcert=${other}`, 'certificate'],
    [`?sslmode=require&sslrootcert=${other}`, 'sslrootcert names its authority'],
    ['?sslmode=verify-full', 'sslrootcert names its authority'],
    ['?sslmode=required', 'sslmode is not one of disable, allow, prefer, require, no-verify, verify-ca, verify-full'],
    ['?sslmode=verify-ca&sslrootcert=/missing.pem', 'the file /missing.pem of sslrootcert cannot be read (ENOENT)'],
    ['?sslmode=require&sslrootcert=system', 'sslrootcert=system needs sslmode=verify-full'],
  ])('refuses the server with %j', async (query, says) => {
    expect(await fail(query)).toContain(says);
  });

  // https://github.com/PostHog/posthog/issues/18533
  it.each([
    ['a parameter', (path: string, port: string) => `@/postgres?host=${path}&port=${port}&sslmode=require`],
    ['the host', (path: string, port: string) => `@${encodeURIComponent(path)}:${port}/postgres?sslmode=require`],
  ])('connects to a socket that %s names', async (_name, write) => {
    const [row] = await execute('show unix_socket_directories');
    const end = write(String(row!['unix_socket_directories']), new URL(url).port);
    const gateway = await startGateway({
      config: null,
      env: { DATABASE_URL: `postgres://postgres:${password}${end}` },
    });
    expect(await (await gateway.get('/ready')).json()).toEqual({ status: 'ready' });
    expect(await gateway.end()).toBe(0);
  });

  it('keeps the tables of each search path apart', async () => {
    const database = new URL(await createDatabase());
    const start = async (query: string) => {
      const gateway = await startGateway({ config: null, env: { DATABASE_URL: database.href + query } });
      expect(await gateway.end()).toBe(0);
    };
    await start('');
    const client = new pg.Client({ connectionString: database.href });
    await client.connect();
    await client.query('create schema staging');
    for (const _ of ['creates', 'finds']) await start('?options=-c%20search_path%3Dstaging');
    const { rows } = await client.query(
      `select schemaname as name from pg_tables where tablename = 'headgate_migrations' order by 1`,
    );
    await client.end();
    expect(rows).toEqual([{ name: 'public' }, { name: 'staging' }]);
  });

  it('names the right that a user lacks', async () => {
    await execute(`create role bob login password 'bob'`);
    expect(await fail('', 'bob:bob')).toMatch(
      /The tables in PostgreSQL at 127\.0\.0\.1:\d+\/test_\d+ cannot be created or changed: permission denied for schema public\. .* CREATE/,
    );
  });

  it.each(['ada:wrong@p/a#ss?word', 'ada:wrong/p@ss'])('shows no part of the password of %s', async (user) => {
    const stderr = await fail('', user);
    expect(stderr).toMatch(/PostgreSQL at 127\.0\.0\.1:\d+\/test_\d+ cannot be used: password authentication failed/);
    expect(stderr).not.toMatch(/wrong|ss\?word|p@/);
  });
});
