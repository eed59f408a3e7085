import { execFile, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { openSqliteStorage } from '../../src/platform/storage/sqlite/open.ts';
import { testKeys } from '../../src/testing/index.ts';
import { createInternVaults } from '../../src/vault/intern-vaults.ts';
import { createMasterKeys } from '../../src/vault/master-keys.ts';
import { createSecretRelease } from '../../src/vault/release.ts';
import { cleanUp, compileCache, startGateway } from '../lifecycle/gateway-process.ts';

const root = join(import.meta.dirname, '../..');
const guide = readFileSync(join(root, 'docs/guides/vault.md'), 'utf8');
const main = '00000000-0000-4000-8000-0000000000a1';
const missing = ['bash', 'curl'].find((tool) => spawnSync(tool, ['--version']).error !== undefined);
const prelude = `
set -euo pipefail
headgate() { "$NODE" "$ENTRY" "$@"; }
curl() { command curl --silent --show-error --fail-with-body "$@"; }
`;
/** All values of the guide, and one that a rejected request has. */
const planted = ['ghp_example_token', 'example-password', 'deploy-example-token', 'rejected-value-of-the-test'];

afterEach(cleanUp);

it('the commands of the guide work, and no value is readable anywhere', async ({ skip }) => {
  if (missing) skip(`there is no ${missing}`);
  const { url, folder, running, end } = await startGateway({ env: { HEADGATE_LOG_LEVEL: 'debug' } });
  const data = join(folder, 'data');
  writeFileSync(join(folder, 'token.txt'), 'deploy-example-token\n');
  const storage = await openSqliteStorage(join(data, 'headgate.db'));
  const masterKeys = createMasterKeys(Buffer.from(readFileSync(join(data, 'master.key'), 'utf8').trim()));
  const parts = { vaults: storage.vaults, interns: storage.interns, masterKeys, now: Date.now };
  const [internId, vaultId] = [randomUUID(), randomUUID()];
  await storage.interns.addIntern({
    intern: {
      id: internId,
      workspaceId: main,
      creatorId: 'ada',
      name: 'scout',
      vaultId,
      hasVault: true,
      description: null,
      instructions: null,
      model: null,
      status: 'running',
      hostname: null,
      step: null,
      attachedVaultId: null,
      lastFailureMessage: null,
      failureReason: null,
      runtimeAddress: null,
      isStopRequested: false,
      acknowledgesLoss: false,
      createdAtMs: 1,
      updatedAtMs: 1,
    },
    requestHash: 'r',
    bodyHash: 'b',
    maxPerMember: 9,
    canAttach: true,
    change: { atMs: 1, actorKeyHash: null },
  });
  await createInternVaults(parts).create({ vaultId, internId, workspaceId: main });

  const commands = [...guide.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!).join('');
  const script = prelude + commands.replaceAll('http://127.0.0.1:8787', url);
  const env = {
    ...compileCache,
    PATH: process.env.PATH!,
    NODE: process.execPath,
    ENTRY: join(root, 'src/cli.ts'),
    HEADGATE_DATA: data,
    HEADGATE_KEY: testKeys.key,
    INTERN_ID: internId,
    HEADGATE_CONFIG: join(folder, 'headgate.json'),
  };
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env });
  expect(stdout).toContain('"scope":"workspace"');
  expect(stdout).toContain('deploy.example.com');
  expect(stderr).toContain('New data keys for 2 vaults.');
  expect(stderr).not.toContain('headgate:'); // no complaint about the configuration

  const release = createSecretRelease(parts, { internId, workspaceId: main, vaultId, attachedVaultId: null });
  const placeholders = (await release.listPlaceholders()).map(({ placeholder }) => placeholder);
  for (const [host, value] of [
    ['deploy.example.com', 'deploy-example-token'],
    ['github.com', 'ghp_example_token'],
    ['mail.example.com', 'example-password'],
  ] as const) {
    expect((await release.release(host, placeholders)).map((each) => each.value.toString())).toEqual([value]);
  }
  await storage.close();

  const rejected = await fetch(`${url}/api/v1/vault/secrets/a`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ value: planted[3], hosts: ['*.example.com'] }),
  });
  const answers = [stdout, stderr, await rejected.text()];
  expect(rejected.status).toBe(400);
  const audit = await fetch(`${url}/api/v1/audit`, { headers: { authorization: `Bearer ${testKeys.managementKey}` } });
  answers.push(await audit.text());
  expect(answers.at(-1)).toContain('vault_secret.create');
  const environment = process.platform === 'linux' ? readFileSync(`/proc/${running.child.pid}/environ`, 'latin1') : '';
  await end('SIGKILL'); // the write-ahead log stays
  const files = globSync('**', { cwd: data }).map((path) => join(data, path));
  const contents = files.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path, 'latin1'));
  expect(contents.some((text) => text.includes('github_token'))).toBe(true);
  for (const value of planted) {
    for (const text of [...answers, running.stdout, running.stderr, environment, ...contents]) {
      expect(text.includes(value), value).toBe(false);
      expect(text.includes(Buffer.from(value).toString('base64').slice(0, 12)), value).toBe(false);
    }
  }
});
