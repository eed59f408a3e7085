import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { json } from '../../testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../testing/scripted-upstream.ts';
import { checkContentFilters } from './content-filters.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-filters-'));
let analyzer: ScriptedUpstream;
beforeAll(async () => {
  analyzer = await startUpstream();
});
afterAll(async () => {
  await analyzer.close();
  rmSync(folder, { recursive: true });
});

function check(parts: object, probe = false) {
  const file = join(folder, 'headgate.json');
  writeFileSync(file, JSON.stringify(parts));
  return checkContentFilters(loadConfig({ file, env: {}, cwd: folder }).config, { probe });
}
const guardrail = (...content_filters: object[]) => ({
  bootstrap: {
    workspaces: [{ name: 'main' }],
    guardrails: [{ name: 'g', workspace: 'main', rules: { content_filters } }],
  },
});

it('checks the guardrails of the file', async () => {
  expect(await check({})).toEqual([]);
  expect(await check(guardrail({ pattern: 'a', action: 'flag' }))).toEqual([
    { status: 'ok', subject: 'guardrails', says: '1 in bootstrap.guardrails' },
  ]);
  expect(await check(guardrail({ pattern: '(a+)+', action: 'flag' }))).toMatchObject([
    { status: 'fail', says: expect.stringMatching(/^bootstrap\.guardrails\[0\]\.rules: .*nested quantifier/) },
  ]);
});

it('calls the analyzer only on request, and says what is wrong', async () => {
  const guardrails = { analyzer_url: analyzer.url };
  expect(await check({ guardrails })).toEqual([{ status: 'ok', subject: 'analyzer', says: `at ${analyzer.url}` }]);
  expect(analyzer.requests).toEqual([]);
  analyzer.respond(json([]));
  expect(await check({ guardrails }, true)).toMatchObject([
    { status: 'ok', says: `at ${analyzer.url}, which responds` },
  ]);
  analyzer.respond(json({}, { status: 500 }));
  expect(await check({ guardrails: { ...guardrails, analyzer_on_failure: 'reject' } }, true)).toMatchObject([
    {
      status: 'fail',
      says: expect.stringMatching(/responded with status 500\. Requests that need it are rejected\.$/),
    },
  ]);
});
