import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { htmlPage, json } from '../../testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../testing/scripted-upstream.ts';
import { checkSearchEngines } from './search-engines.ts';

let engine: ScriptedUpstream;
beforeAll(async () => {
  engine = await startUpstream();
});
afterAll(() => engine.close());

const check = (probe: boolean) => {
  const env = {
    HEADGATE_TOOLS_WEB_SEARCH_ENGINES_EXA_DRIVER: 'searxng',
    HEADGATE_TOOLS_WEB_SEARCH_ENGINES_EXA_BASE_URL: engine.url,
  };
  return checkSearchEngines(loadConfig({ env, file: null, cwd: import.meta.dirname }).config, { probe });
};

it('lists the engines, and searches only on request', async () => {
  const says = `searxng at ${engine.url}`;
  expect(await check(false)).toEqual([{ status: 'ok', subject: 'search exa', says }]);
  expect(engine.requests).toEqual([]);
  engine.respond(json({ results: [] }));
  expect(await check(true)).toEqual([{ status: 'ok', subject: 'search exa', says: `${says} responds` }]);
});

it('says how to repair an engine', async () => {
  engine.respond(htmlPage(403));
  expect(await check(true)).toMatchObject([{ status: 'fail', fix: expect.stringContaining('search.formats') }]);
  engine.respond(htmlPage(502));
  expect(await check(true)).toMatchObject([{ status: 'fail', fix: expect.stringContaining('later') }]);
  await engine.down();
  expect(await check(true)).toMatchObject([
    {
      status: 'fail',
      says: 'The search engine exa cannot be reached (ECONNREFUSED).',
      fix: expect.stringContaining('base_url'),
    },
  ]);
  await engine.up();
});
