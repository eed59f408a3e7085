import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { searchDriverKeys } from '../../src/config/search-engines.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { searchDrivers } from '../../src/tools/web-search/engines/index.ts';

const guide = readFileSync(new URL('../../docs/guides/web-search.md', import.meta.url), 'utf8');
const blocksOf = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, text]) => text!);

interface Settings {
  tools: { web_search: { engines: { exa: { base_url: string } } } };
}

let engine: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  engine = await startUpstream();
  const settings = parse(blocksOf('yaml')[0]!.replace(/\$\{\w+\}/g, 'key-of-brave')) as Settings;
  settings.tools.web_search.engines.exa.base_url = engine.url;
  gateway = await testGateway({ ...settings });
});
afterAll(async () => {
  await gateway.close();
  await engine.close();
});

it('the requests of the guide have the sources that it shows', async () => {
  const requests = blocksOf('bash').map((block) => /-d '([\s\S]*)'/.exec(block)![1]!);
  const source = JSON.parse(blocksOf('json')[0]!) as { url: string; title: string; content: string };
  expect(requests).toHaveLength(3);
  for (const body of requests) {
    engine.respond(json({ results: [{ url: source.url, title: source.title, content: source.content }] }));
    const response = await gateway.post('/responses', body, { headers: { 'x-router-metadata': 'enabled' } });
    const { output } = (await response.json()) as { output: { content?: { annotations: object[] }[] }[] };
    expect(output.at(-1)!.content![0]!.annotations).toEqual([source]);
    expect(output).toHaveLength(body.includes('router:web_search') ? 2 : 1);
  }
  expect(engine.requests[1]!.path).toContain('site%3Aexample.com');
});

it('the guide lists every driver with the variable of its key', () => {
  const rows = [...guide.matchAll(/^\| `(\w+)` \|[^|]*\| (?:`(\w+)`|none) \|/gm)].map(([, id, variable]) => [
    id,
    variable ?? null,
  ]);
  expect(Object.fromEntries(rows)).toEqual(searchDriverKeys);
  expect(Object.keys(searchDrivers)).toEqual(Object.keys(searchDriverKeys));
  for (const [name, driver] of Object.entries(searchDrivers)) expect(driver.id).toBe(name);
});
