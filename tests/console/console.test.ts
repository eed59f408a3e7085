import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../src/domain/ledger-entry.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/index.ts';
import { main, other } from '../api/manage.ts';
import { createBusyDay } from './busy-day.ts';
import { findBarriers, isTooWide, noBrowser, buildForTest, openBrowser, openPage, signIn } from './open-browser.ts';

const hostile = '<img src=x onerror="alert(1)">';
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

describe.skipIf(noBrowser !== undefined)(noBrowser ?? 'the console', () => {
  let gateway: TestGateway;
  let browser: Browser;
  let busyDay: LedgerEntry[];
  let folder: string;

  beforeAll(async () => {
    folder = await buildForTest();
    [gateway, browser] = await Promise.all([
      testGateway({ tags: ['team'] }, undefined, { consoleFolder: folder }),
      openBrowser(),
    ]);
    const created = await gateway.send(
      'POST',
      '/keys',
      { name: hostile, workspace_id: other },
      { key: testKeys.managementKey },
    );
    const { data } = (await created.json()) as { data: { hash: string } };
    busyDay = createBusyDay({
      workspaces: [main, other],
      keyHashes: [hashOf(testKeys.key), data.hash],
      count: 600,
      untilMs: Date.now() - 60_000,
      lengthMs: 3 * 86_400_000,
    });
    await gateway.gateway.storage.ledger.append(busyDay);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
    if (folder !== undefined) rmSync(join(folder, '..'), { recursive: true, force: true });
  });

  const admin = { key: testKeys.managementKey };

  it('asks for a key at the URL that was opened, and returns to it', async () => {
    const { context, page, problems } = await openPage(browser, gateway, '/requests?outcome=failed');
    await page.getByLabel('Key', { exact: true }).fill('sk-unknown');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The gateway does not know this key').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await signIn(page, testKeys.managementKey);
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/requests?outcome=failed`);
    await page.getByText('Outcome: failed').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await context.cookies()).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('finds a failed request with the keyboard alone, and copies it as a command', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests', admin);
    await page.getByRole('table', { name: 'Requests' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('5xx');
    await page.keyboard.press('Enter');
    await page.getByText('Status: 5xx').waitFor();
    await page.locator('tbody tr.failed').first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const id = await page.evaluate<string | null>('document.activeElement.getAttribute("data-row")');
    expect(id).toMatch(/^gen-/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Time line' }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/requests/${id}`);
    const copy = page.getByRole('button', { name: 'Copy as curl' });
    await copy.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^curl 'http.*\/api\/v1\/responses'/);
    await page.goBack();
    await page.getByText('Status: 5xx').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.getAttribute("data-row")')).toBe(id);
    await context.close();
  });

  it('shows new requests at the top, and announces them to a reader who is elsewhere', async () => {
    const { context, page } = await openPage(browser, gateway, `/requests?api_key_hash=${hashOf(testKeys.key)}`, admin);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.mouse.move(0, 0);
    const first = page.locator('tbody tr[aria-rowindex="2"]');
    await gateway.post('/responses', { model: 'simulator/echo', input: 'Hello' });
    await first.getByText('simulator/echo').waitFor();
    await first.hover();
    const before = await first.getByRole('link').getAttribute('data-row');
    await gateway.post('/responses', { model: 'simulator/echo', input: '[[fail 529 Overloaded]]' });
    const show = page.getByRole('button', { name: 'Show 1 new request' });
    await show.waitFor();
    expect(await first.getByRole('link').getAttribute('data-row')).toBe(before);
    await show.click();
    await first.getByText('529').waitFor();
    await context.close();
  });

  it('keeps columns, filters and the order in the URL', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests', admin);
    await page.getByRole('button', { name: 'Filters' }).click();
    const dialog = page.getByRole('dialog', { name: 'Filters' });
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByLabel('Provider').fill('OpenAI');
    await dialog.getByLabel('Duration at least (ms)').fill('1000');
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByLabel('Order').selectOption('cost');
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'Tags' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('columnheader', { name: 'Tags' }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(searchParams.get('provider')).toBe('OpenAI');
    expect(searchParams.get('min_duration')).toBe('1000');
    expect(searchParams.get('sort')).toBe('cost');
    await page.reload();
    await page.getByRole('columnheader', { name: 'Tags' }).waitFor();
    await page.getByText('Provider: OpenAI').waitFor();
    expect(await page.getByLabel('Order').inputValue()).toBe('cost');
    const costs = await page.locator('tbody .money').allTextContents();
    const amounts = costs.map((text) => Number(text.slice(1)));
    expect(amounts).toEqual(amounts.toSorted((a, b) => b - a));
    await context.close();
  });

  it('exports what is filtered', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests?outcome=failed', admin);
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'JSONL' }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString().trim().split('\n');
    expect(lines.length).toBeGreaterThan(5);
    expect(new Set(lines.map((line) => (JSON.parse(line) as { outcome: string }).outcome))).toEqual(
      new Set(['failed']),
    );
    await page.getByText(`The file has ${lines.length} requests.`).waitFor();
    await context.close();
  });

  it('asks for a key again when the session ends, and then shows the same page', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests?outcome=failed', admin);
    await page.locator('tbody tr.failed').first().waitFor();
    await context.clearCookies();
    await page.getByRole('button', { name: 'Remove the filter Outcome' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, testKeys.managementKey);
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/requests`);
    await context.close();
  });

  it('says at the filter that its value is invalid', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests?tag=nope', admin);
    await page.getByRole('alert').getByText('tag: ').waitFor();
    await page.getByRole('button', { name: 'Remove the filter Tag' }).click();
    await page.getByRole('table', { name: 'Requests' }).waitFor();
    await context.close();
  });

  it('shows an inference key only what its workspace has', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests', { key: testKeys.key });
    await page.getByRole('table', { name: 'Requests' }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Key' }).count()).toBe(0);
    await context.close();
  });

  it('finds pages and actions by name', async () => {
    const { context, page } = await openPage(browser, gateway, '/requests', admin);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('dark');
    await page.getByRole('menuitem', { name: 'Use the dark theme' }).waitFor();
    await expect.poll(() => findBarriers(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.reload();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.getByRole('heading', { name: 'Requests' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await context.close();
  });

  it('creates a key with a limit, and shows the request that the limit rejected', async () => {
    const { context, page } = await openPage(browser, gateway, '/keys', admin);
    await page.getByRole('button', { name: 'Create a key' }).click();
    const form = page.getByRole('dialog', { name: 'Create a key' });
    await form.getByLabel('Name').fill('limited');
    await form.getByLabel('Requests per minute').fill('1');
    await form.getByText('The same as a command').click();
    expect(await form.locator('pre').textContent()).toContain('"requests_per_minute":1');
    expect(await findBarriers(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create key' }).click();
    const shown = page.getByRole('dialog', { name: 'The new key' });
    const key = (await shown.locator('pre').first().textContent())!;
    await shown.getByRole('button', { name: 'I have copied it' }).click();
    const statuses: number[] = [];
    for (const input of ['one', 'two']) {
      statuses.push((await gateway.post('/responses', { model: 'simulator/echo', input }, { key })).status);
    }
    expect(statuses).toEqual([200, 429]);
    await page.getByRole('link', { name: 'limited', exact: true }).click();
    await page.locator('tbody tr').getByText('429').waitFor();
    await context.close();
  });

  it('shows sums that equal the ledger, in the time zone of the browser', async () => {
    const { context, page } = await openPage(browser, gateway, '/spend?by=workspace', admin);
    const cells = page.locator('section[aria-label="By workspace"] tfoot .money');
    await cells.waitFor();
    const shown = BigInt((await cells.textContent())!.replaceAll(/[$.,]/g, ''));
    const sum = busyDay.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
    expect([sum, sum / 1000n]).toContain(shown);
    await page.getByLabel('Time zone').selectOption('UTC');
    await page.getByText('in the time zone UTC').waitFor();
    expect(new URL(page.url()).searchParams.get('zone')).toBe('UTC');
    await context.close();
  });

  const pages = [
    '/overview',
    '/requests',
    '/spend',
    '/models',
    '/keys',
    '/budgets',
    '/members',
    '/workspaces',
    '/audit',
    '/sessions',
  ];
  it.each([
    'light',
    'dark',
  ] as const)('axe-core finds nothing on any page in the %s theme, and each width has room', async (theme) => {
    const { context, page, problems } = await openPage(browser, gateway, '/overview', { ...admin, theme });
    for (const path of [...pages, `/requests/${busyDay.at(-1)!.id}`]) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(`${gateway.url}/console${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      const found = { path, barriers: await findBarriers(page), tooWide: [] as number[] };
      for (const width of [1440, 1024, 390]) {
        await page.setViewportSize({ width, height: 900 });
        if (await isTooWide(page)) found.tooWide.push(width);
      }
      if (theme === 'light') found.barriers.push(...(await findBarriers(page)));
      expect(found).toEqual({ path, barriers: [], tooWide: [] });
    }
    expect(problems).toEqual([]);
    await context.close();
  });

  it('shows texts of callers as text', async () => {
    const { context, page, problems } = await openPage(browser, gateway, '/requests', admin);
    await page.getByText(hostile).first().waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await gateway.post('/responses', {
      model: 'simulator/echo',
      input: `[[fail 500 ${hostile}]]`,
      session_id: hostile,
    });
    await page.goto(`${gateway.url}/console/requests?session_id=${encodeURIComponent(hostile)}`);
    await page.locator('tbody tr.failed a').first().click();
    await page.getByText(hostile).first().waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
  });
});
