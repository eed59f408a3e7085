import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { testSandboxes } from '../contract.ts';
import { BubblewrapDriver } from './bubblewrap-driver.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sandboxes-'));
chmodSync(folder, 0o711); // sandboxes of root have another user
const open = () => new BubblewrapDriver({ folder, hidden: [] });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const problem = await open().probe();

if (problem === undefined) testSandboxes('bubblewrap', { open });
else describe('sandboxes: bubblewrap', () => it.skip(`cannot run here: ${problem}`, () => {}));
