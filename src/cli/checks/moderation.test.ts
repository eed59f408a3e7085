import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { json } from '../../testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../testing/scripted-upstream.ts';
import { checkModeration } from './moderation.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-moderation-'));
let service: ScriptedUpstream;
beforeAll(async () => {
  service = await startUpstream();
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true });
});

function check(moderation: object, { probe = false, isModerated = false } = {}) {
  const file = join(folder, 'headgate.json');
  const models = [{ model: 'a/strict', is_moderated: isModerated }];
  const providers = [{ id: 'a', wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', models }];
  writeFileSync(file, JSON.stringify({ providers, plugins: { moderation } }));
  return checkModeration(loadConfig({ file, env: {}, cwd: folder }), { probe });
}

it('warns if an endpoint demands moderation and there is no engine', async () => {
  expect(await check({})).toEqual([]);
  expect(await check({}, { isModerated: true })).toMatchObject([
    { status: 'warn', says: expect.stringContaining('a/strict demands moderated inputs') },
  ]);
  expect(await check({ required: true })).toMatchObject([
    { status: 'warn', says: expect.stringContaining('required') },
  ]);
});

it('calls the service only on request, and says what is wrong', async () => {
  const url = `${service.url}/moderations`;
  expect(await check({ url })).toMatchObject([{ status: 'ok', says: `by ${url}` }]);
  expect(await check({ model: 'a/judge' })).toMatchObject([{ status: 'ok', says: 'by the model a/judge' }]);
  expect(service.requests).toEqual([]);
  service.respond(json({ results: [{ flagged: false }] }));
  expect(await check({ url }, { probe: true })).toMatchObject([{ status: 'ok', says: `by ${url}, which responds` }]);
  service.respond(json({}, { status: 401 }));
  expect(await check({ url }, { probe: true })).toMatchObject([
    {
      status: 'fail',
      says: 'The moderation service responded with status 401.',
      fix: expect.stringContaining('api_key'),
    },
  ]);
});
