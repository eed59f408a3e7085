import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { buildConsole } from '../console/build.ts';
import { testGateway } from '../src/testing/index.ts';
import { createBusyDay } from '../tests/console/busy-day.ts';

/*
 * Takes the screenshots of the console for the documentation, with the requests of a made-up day and Debian's Chromium.
 *
 *     node scripts/take-screenshots.ts
 */
const root = join(import.meta.dirname, '..');
const folder = join(root, 'docs/images');
const DAY_MS = 86_400_000;
/** Time for a page to show its data. */
const SETTLED_MS = 3000;

/** The page of each screenshot, and the theme. */
const shots = [
  ['overview', '', 'light'],
  ['requests', 'requests', 'dark'],
  ['request', 'requests/ID', 'light'],
  ['spend', 'spend', 'light'],
  ['keys', 'keys', 'dark'],
  ['budgets', 'budgets', 'light'],
] as const;

const built = join(mkdtempSync(join(tmpdir(), 'headgate-console-')), 'console');
await buildConsole(built);
mkdirSync(folder, { recursive: true });
const gateway = await testGateway({}, undefined, { consoleFolder: built });
const { storage } = gateway.gateway;
const keys = await storage.access.listKeys();
const admin = { key: gateway.managementKey };
for (const [name, limit] of [
  ['search', 25],
  ['support', 5],
] as const) {
  await gateway.send('POST', '/keys', { name, limit, limit_reset: 'monthly' }, admin);
}
const callers = (await storage.access.listKeys()).filter(({ kind }) => kind !== 'management');
const entries = createBusyDay({
  workspaces: [keys[0]!.workspaceId],
  keyHashes: callers.map(({ hash }) => hash),
  count: 12_000,
  untilMs: Date.now(),
  lengthMs: 20 * DAY_MS,
});
await storage.ledger.append(entries);
/** A request whose first attempt failed. */
const fallenBack = entries.findLast(({ history = '{}', outcome }) => {
  const { attempts = [] } = JSON.parse(history) as { attempts?: unknown[] };
  return outcome === 'completed' && attempts.length > 1;
})!;
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const [name, path, colorScheme] of shots) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(`${gateway.url}/console/`);
  await page.locator('input').first().fill(gateway.managementKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.goto(`${gateway.url}/console/${path.replace('ID', fallenBack.id)}`);
  await delay(SETTLED_MS);
  await page.screenshot({ path: join(folder, `console-${name}.png`) });
  await context.close();
}
await browser.close();
await gateway.close();
rmSync(join(built, '..'), { recursive: true });
