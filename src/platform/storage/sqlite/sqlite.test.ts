import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { testStorage } from '../contract.ts';
import { openSqliteStorage } from './open.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sqlite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

testStorage('sqlite', () => openSqliteStorage(join(folder, 'contract.db')));
