import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../testing/index.ts';
import { runCli } from './program.ts';

let gateway: TestGateway;
let cwd: string;
const ids: string[] = [];
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-requests-'));
  gateway = await testGateway({ tags: ['team'], storage: { url: `file:${join(cwd, 'headgate.db')}` } });
  const post = async (body: object, key = gateway.key) => {
    const response = await gateway.post('/responses', { input: 'hi', ...body }, { key });
    await response.text();
    ids.push(response.headers.get('x-generation-id')!);
  };
  await post({ model: 'simulator/echo', session_id: 's-1', metadata: { team: 'search' } });
  await post({ model: 'simulator/echo', input: '[[fail 503]]' });
  await post({ model: 'simulator/writer', stream: true }, gateway.organizationKey);
  await gateway.gateway.flush();
});
afterAll(async () => {
  await gateway.close();
  rmSync(cwd, { recursive: true });
});

async function call(args: string[], more: { closed?: AbortSignal; onWrite?: () => void } = {}) {
  const printed = { stdout: '', stderr: '' };
  const write = (name: 'stdout' | 'stderr') => ({
    write: (text: string) => {
      printed[name] += text;
      more.onWrite?.();
    },
  });
  const env = { HEADGATE_STORAGE_URL: `file:${join(cwd, 'headgate.db')}` };
  const output = { stdout: write('stdout'), stderr: write('stderr') };
  const code = await runCli(['requests', ...args], {
    ...output,
    env,
    cwd,
    ...(more.closed && { closed: more.closed }),
  });
  return { code, ...printed };
}
const list = async (...args: string[]): Promise<{ id: string }[]> =>
  JSON.parse((await call([...args, '--json'])).stdout);
const endOf = (id: string) => id.slice(-8);

describe('headgate requests', () => {
  it('lists the last requests beside a running gateway, the newest last', async () => {
    const { code, stdout, stderr } = await call([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^TIME +STATUS +ROUTE +ERROR +MS +IN +OUT +COST +ID$/),
      expect.stringMatching(
        new RegExp(`^[\\d:]{8} +200 +simulator/echo -> Simulator +[\\d,]+ +\\d+ +\\d+ +\\$0 +${endOf(ids[0]!)}$`),
      ),
      expect.stringMatching(
        new RegExp(`^[\\d:]{8} +529 +simulator/echo +provider_overloaded +[\\d,]+ +0 +0 +- +${endOf(ids[1]!)}$`),
      ),
      expect.stringMatching(
        new RegExp(`^[\\d:]{8} +200 +simulator/writer -> Simulator +[\\d,]+ +\\d+ +\\d+ +\\$0 +${endOf(ids[2]!)}$`),
      ),
    ]);
  });

  it.each([
    [['--limit', '1'], [2]],
    [['--failed'], [1]],
    [['--model', 'simulator/writer'], [2]],
    [
      ['--provider', 'simulator'],
      [0, 2],
    ],
    [
      ['--provider', 'Simulator'],
      [0, 2],
    ],
    [
      ['--key', 'app'],
      [0, 1],
    ],
    [
      ['--member', 'ada'],
      [0, 1],
    ],
    [
      ['--workspace', 'main'],
      [0, 1, 2],
    ],
    [['--session', 's-1'], [0]],
    [
      ['--since', '2001-01-01'],
      [0, 1, 2],
    ],
    [['--until', '2001-01-01'], []],
    [['--tag', 'team:search'], [0]],
    [['--status', '5xx'], [1]],
    [['--outcome', 'failed'], [1]],
    [
      ['--finish-reason', 'stop'],
      [0, 2],
    ],
    [['--error-type', 'provider_overloaded'], [1]],
    [['--streamed', 'true'], [2]],
    [['--cached', 'true'], []],
    [['--min-cost', '0.01'], []],
    [['--max-duration', '0', '--tool', 'web_search'], []],
    [
      ['--order', 'asc'],
      [0, 1, 2],
    ],
    [
      ['--sort', 'time', '--limit', '2'],
      [2, 1],
    ],
    [['--sort', 'cost', '--since', '2001-01-01', '--failed'], [1]],
  ])('filters by %j', async (args, expected) => {
    expect((await list(...args)).map(({ id }) => ids.indexOf(id))).toEqual(expected);
  });

  it('reports that nothing matches', async () => {
    expect((await call(['--until', '2001-01-01'])).stdout).toBe('There are no such requests.\n');
  });

  it.each([
    [['--limit', '0'], '--limit 0: give a number from 1 to 1000.'],
    [['--limit', 'x'], '--limit x: give a number'],
    [['--key', 'nobody'], 'nobody'],
    [['--workspace', 'nowhere'], 'There is no workspace "nowhere"'],
    [['--since', '2026-02-30'], '--since 2026-02-30: give a date'],
    [['--status', '600'], '--status 600: give a status like 429, or a class like 5xx.'],
    [['--min-cost', '1', '--max-cost', '0.5'], '--max-cost 0.5: give at least min_cost.'],
    [['--tag', 'search'], '--tag search: give a tag like team:search'],
    [['--sort', 'cost'], 'Give its beginning with --since.'],
    [['--sort', 'price'], '--sort price: give one of time, cost, duration.'],
    [['--order', 'up'], '--order up: give one of asc, desc.'],
    [['--follow', '--sort', 'time'], 'Omit --sort and --order.'],
    [['--since', '2026-11-02', '--until', '2026-11-01'], '--until 2026-11-01: give a time after --since.'],
    [['show', 'gen-0'], 'No request has an id that ends in "gen-0"'],
    [['lst'], 'No request has an id that ends in "lst"'],
    [['gen-0', '--follow'], '--follow filters a list. Omit it, or the id.'],
    [['show', 'x'], 'ends in "x"'],
  ])('rejects %j', async (args, message) => {
    const { code, stdout, stderr } = await call(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('follows: prints the next requests as they end, until its output is closed', async () => {
    const closed = new AbortController();
    let text = '';
    let end: ((value: unknown) => void) | undefined;
    const printed = () => new Promise((resolve) => (end = resolve));
    const first = printed();
    const following = runCli(['requests', '--follow', '--limit', '1'], {
      stdout: {
        write: (more: string) => {
          text += more;
          end?.(undefined);
        },
      },
      stderr: { write: () => {} },
      env: { HEADGATE_STORAGE_URL: `file:${join(cwd, 'headgate.db')}` },
      cwd,
      closed: closed.signal,
    });
    await first;
    expect(text).toMatch(
      new RegExp(`^[\\d:]{8}  200  simulator/writer -> Simulator  .*tokens  \\$0  ${endOf(ids[2]!)}\\n$`),
    );
    const next = printed();
    const response = await gateway.post('/responses', { model: 'simulator/reasoner', input: 'hi' });
    await response.text();
    await next;
    closed.abort();
    expect(await following).toBe(0);
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toContain('simulator/reasoner -> Simulator');
    expect(lines[1]).toContain(endOf(response.headers.get('x-generation-id')!));
  });
});

describe('headgate requests show', () => {
  it.each([
    ['its id', () => ids[1]!],
    ['the end of its id', () => endOf(ids[1]!)],
  ])('prints a request in full, by %s', async (_name, idOf) => {
    const { code, stdout } = await call(['show', idOf()]);
    expect(code).toBe(0);
    const lines = Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => [line.slice(0, 14).trimEnd(), line.slice(14)]),
    );
    expect(lines).toMatchObject({
      Id: ids[1],
      Status: '529 (failed)',
      Error: expect.stringMatching(/^provider_overloaded: .*/),
      Requested: 'simulator/echo',
      Mode: 'response, not streamed',
      Tokens: '0 in, 0 out',
      Key: 'app',
      Member: 'ada',
      Workspace: 'main',
    });
  });

  it.each([
    () => ids[1]!,
    () => endOf(ids[1]!),
    () => ids[1]!.slice(-6),
  ])('is what "headgate requests" with an id does', async (idOf) => {
    expect(await call([idOf()])).toEqual(await call(['show', ids[1]!]));
    expect(await call([idOf(), '--json'])).toEqual(await call(['show', ids[1]!, '--json']));
  });

  it('prints the last one without an id, and everything as JSON', async () => {
    const newest = (await list()).at(-1)!;
    expect(JSON.parse((await call(['show', '--json'])).stdout)).toEqual(newest);
  });

  it('reports that input and output are not kept', async () => {
    expect((await call(['show', ids[0]!, '--content'])).stdout).toContain('\nIts input and output are not kept.\n');
  });
});
