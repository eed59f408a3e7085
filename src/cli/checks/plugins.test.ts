import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Config } from '../../config/schema.ts';
import { checkPluginModules, checkToolModules } from './plugins.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const module = (name: string, code: string): string => {
  writeFileSync(join(folder, name), code);
  return join(folder, name);
};
const check = (modules: string[], saved?: object[]) =>
  checkPluginModules({
    plugins: { modules },
    bootstrap: { workspaces: [{ name: 'main', ...(saved && { default_plugins: saved }) }] },
  } as unknown as Config); // the check reads only these settings

const mine = module('mine.mjs', 'export default { id: "mine", prepare() {} };');

it('says nothing without modules and saved plugins', async () => {
  expect(await check([])).toEqual([]);
});

it('names the plugins of the modules', async () => {
  expect(await check([mine], [{ id: 'mine' }])).toEqual([{ status: 'ok', subject: 'plugins', says: 'loaded mine' }]);
  expect(await check([], [{ id: 'response-healing' }])).toMatchObject([{ status: 'ok' }]);
});

it('reports a module that cannot be loaded, and saved settings that are invalid', async () => {
  const broken = module('broken.mjs', 'throw new Error("no database");');
  expect(await check([mine, broken])).toMatchObject([{ status: 'fail', says: expect.stringContaining('no database') }]);
  expect(await check([mine], [{ id: 'other' }])).toMatchObject([
    { status: 'fail', says: expect.stringContaining('bootstrap.workspaces[0]') },
  ]);
});

it('names the tools of the modules, and reports a module that cannot be loaded', async () => {
  const checkTools = (modules: string[]) => checkToolModules({ tools: { modules } } as unknown as Config); // reads only these
  expect(await checkTools([])).toEqual([]);
  const code = "{ type: 'router:mine', description: 'x', arguments: { type: 'object' }, execute() {} }";
  expect(await checkTools([module('tool.mjs', `export default ${code};`)])).toEqual([
    { status: 'ok', subject: 'tools', says: 'loaded router:mine' },
  ]);
  expect(await checkTools([join(folder, 'missing.mjs')])).toMatchObject([
    { status: 'fail', says: expect.stringContaining('missing.mjs cannot be loaded') },
  ]);
});
