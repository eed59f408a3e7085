import { join } from 'node:path';
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

/** The page of each screenshot, and the theme. */
const shots = [
  ['overview', '', 'light'],
  ['requests', 'requests', 'dark'],
  ['request', 'requests?order_by=-cost', 'light'],
  ['spend', 'spend', 'light'],
  ['keys', 'keys', 'dark'],
  ['budgets', 'budgets', 'light'],
] as const;

await buildConsole(join(root, 'dist/console'));
const gateway = await testGateway();
const { storage } = gateway.gateway;
const keys = await storage.access.listKeys();
const limits = { key: gateway.managementKey };
for (const [name, limit] of [
  ['search', 25],
  ['support', 5],
] as const) {
  await gateway.send('POST', '/keys', { name, limit, limit_reset: 'monthly' }, limits);
}
const callers = (await storage.access.listKeys()).filter(({ kind }) => kind !== 'management');
await storage.ledger.append(
  createBusyDay({
    workspaces: [keys[0]!.workspaceId],
    keyHashes: callers.map(({ hash }) => hash),
    count: 12_000,
    untilMs: Date.now(),
    lengthMs: 20 * DAY_MS,
  }),
);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const [name, path, colorScheme] of shots) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(`${gateway.url}/console/`);
  await page.locator('input').first().fill(gateway.managementKey);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.goto(`${gateway.url}/console/${path}`);
  await page.waitForLoadState('networkidle').catch(() => {}); // the live list keeps a connection open
  if (name === 'request') {
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor();
    await page.waitForLoadState('networkidle');
  }
  await page.screenshot({ path: join(folder, `console-${name}.png`) });
  await context.close();
}
await browser.close();
await gateway.close();
