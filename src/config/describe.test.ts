import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { describeConfig, exampleUrl, pageUrl } from './describe.ts';
import { loadConfig } from './load.ts';

it('the reference page is current; `npm run docs` rewrites it', () => {
  expect(readFileSync(pageUrl, 'utf8')).toBe(describeConfig());
});

it('the example of the page loads', () => {
  const names = ['HEADGATE_MASTER_KEY', 'OPENAI_API_KEY', 'HEADGATE_KEY', 'ORG_KEY', 'ADMIN_KEY', 'OLD_KEY'];
  const env = Object.fromEntries(names.map((name) => [name, `value-of-${name}`]));

  const { config, warnings } = loadConfig({ file: fileURLToPath(exampleUrl), env });

  expect(warnings).toEqual([]);
  expect(config.server.body_limit).toBe(33554432);
  expect(config.providers[0]).toMatchObject({ id: 'openai', api_key: 'value-of-OPENAI_API_KEY' });
  expect(config.bootstrap.keys.map(({ key }) => key)).toEqual([
    'value-of-HEADGATE_KEY',
    'value-of-ORG_KEY',
    'value-of-ADMIN_KEY',
    'value-of-OLD_KEY',
  ]);
  expect(config.bootstrap.workspaces[0]!.id).toBe('00000000-0000-4000-8000-0000000000a1');
});
