import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { canRun } from '../../src/testing/can-run.ts';
import { findFreePort } from '../../src/testing/free-port.ts';
import { json, startUpstream, testGateway } from '../../src/testing/index.ts';
import { patient } from '../../src/testing/patience.ts';

const deploy = join(import.meta.dirname, '../../deploy');
const run = promisify(execFile);
const programs = ['prometheus', 'promtool'].map((name) => join('/usr/bin', name));
const isInstalled = programs.every(canRun);
const skipped = isInstalled ? '' : ' (skipped: Prometheus is not installed)';

interface Panel {
  type: string;
  title: string;
  targets?: { expr: string }[];
}
const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana/headgate.json'), 'utf8')) as { panels: Panel[] };
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);
const rules = (
  parse(readFileSync(join(deploy, 'prometheus/headgate-rules.yml'), 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  }
).groups.flatMap((group) => group.rules);

const limitedKey = 'test-limited-key-000001';
const completion = {
  id: 'x',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, prompt_tokens_details: { cached_tokens: 3 } },
};

describe.skipIf(!isInstalled)(`Prometheus${skipped}`, () => {
  const closers: (() => unknown)[] = [];
  let prometheus: string;
  let send: () => Promise<void>;

  beforeAll(async () => {
    const upstream = await startUpstream();
    closers.unshift(() => upstream.close());
    const pricing = { prompt: '0.000001', completion: '0.000002' };
    const gateway = await testGateway({
      tags: ['team'],
      retry: { backoff_ms: 0 },
      bootstrap: {
        keys: [{ key: limitedKey, name: 'limited', workspace: 'main', member: 'ada', requests_per_minute: 1 }],
      },
      providers: [
        { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
        {
          id: 'up',
          wire: 'openai-chat',
          base_url: upstream.url,
          models: [{ model: 'up/m', pricing }, { model: 'up/unpriced' }],
        },
      ],
    });
    closers.unshift(() => gateway.close());
    upstream.always(json(completion));
    send = async () => {
      const ask = async (body: object, options = {}) =>
        (await gateway.post('/responses', { input: 'hi', ...body }, options)).text();
      await ask({ model: 'up/m', metadata: { team: 'search' } });
      upstream.respond(json({ error: { message: 'Overloaded.' } }, { status: 503 }));
      await ask({ model: 'up/m' });
      await ask({ model: 'up/unpriced' });
      await ask({ model: 'simulator/echo', stream: true });
      await ask({ model: 'simulator/echo', tools: [{ type: 'router:datetime' }], tool_choice: 'required' });
      for (let time = 0; time < 2; time++) await ask({ model: 'up/m' }, { key: limitedKey });
    };
    await send();

    const folder = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'));
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(deploy, 'prometheus/headgate-rules.yml')],
      scrape_configs: [{ job_name: 'headgate', static_configs: [{ targets: [new URL(gateway.url).host] }] }],
    };
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
    const port = await findFreePort();
    prometheus = `http://127.0.0.1:${port}`;
    const child = spawn(
      programs[0]!,
      [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    closers.unshift(async () => {
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    });
  }, patient(60_000));
  afterAll(async () => {
    for (const close of closers) await close();
  });

  /** Runs a query. @returns the number of its series */
  async function count(query: string): Promise<number> {
    const response = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(query)}`);
    const body = (await response.json()) as { status: string; error?: string; data: { result: unknown[] } };
    expect(body.error).toBeUndefined();
    return body.data.result.length;
  }

  it('accepts the configuration, and each alert fires in its case', async () => {
    await run(programs[1]!, ['check', 'config', 'prometheus.yml'], { cwd: join(deploy, 'prometheus') });
    await run(programs[1]!, ['test', 'rules', 'headgate-rules.test.yml'], { cwd: join(deploy, 'prometheus') });
    const cases = readFileSync(join(deploy, 'prometheus/headgate-rules.test.yml'), 'utf8');
    for (const { alert } of rules) expect(cases).toContain(`alertname: ${alert}\n`);
  });

  it('has a result for every query of the dashboard', { timeout: patient(60_000) }, async () => {
    const variables = { $job: 'headgate', $__rate_interval: '1m' };
    const filled = queries.map(([title, expr]) => {
      const query = Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(name, value), expr);
      return { title, query };
    });
    await expect
      .poll(
        async () => {
          await send(); // a rate needs two scrapes
          const counts = await Promise.all(filled.map(async (each) => ((await count(each.query)) === 0 ? [each] : [])));
          return counts.flat();
        },
        { timeout: patient(50_000), interval: 500 },
      )
      .toEqual([]);
  });

  it('has the metrics of every alert rule', { timeout: patient(60_000) }, async () => {
    const names = new Set(rules.flatMap(({ expr }) => expr.match(/\b(?:headgate|nodejs|process)_[a-z_]+/g) ?? []));
    expect(names.size).toBeGreaterThan(8);
    const rare = ['headgate_contents_dropped_total', 'headgate_counter_failures_total'];
    for (const name of names) {
      const isThere = expect.poll(() => count(name), { timeout: patient(30_000) });
      await isThere.toBeGreaterThan(rare.includes(name) ? -1 : 0);
    }
  });
});
