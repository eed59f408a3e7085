import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { buildConsole } from '../../console/build.ts';
import { patient } from '../../src/testing/patience.ts';
import type { TestGateway } from '../../src/testing/index.ts';

const program = '/usr/bin/chromium';
/** Why tests with a browser cannot run here. Undefined: they can. */
export const noBrowser = existsSync(program) ? undefined : `There is no ${program}: install Debian's package chromium.`;

/** Builds the console for a test in a folder of its own, because a build of the gateway replaces `dist/`. */
export async function buildForTest(): Promise<string> {
  const folder = join(mkdtempSync(join(tmpdir(), 'headgate-console-')), 'console');
  await buildConsole(folder);
  return folder;
}

/** Starts Chromium. */
export async function openBrowser(): Promise<Browser> {
  // Chromium refuses its sandbox to root, as which CI runs.
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

export interface Session {
  context: BrowserContext;
  page: Page;
  /** Messages of the page that are errors, such as violations of its policy. */
  problems: string[];
}

/** Opens a page in a new context. With a key, it is signed in. */
export async function openPage(
  browser: Browser,
  { url }: Pick<TestGateway, 'url'>,
  path: string,
  {
    key,
    theme = 'light',
    width = 1440,
    height = 900,
  }: { key?: string; theme?: 'light' | 'dark'; width?: number; height?: number } = {},
): Promise<Session> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(patient(8000));
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // A response with a status from 400 on is part of some tests.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(`${url}/console${path}`);
  if (key !== undefined) await signIn(page, key);
  return { context, page, problems };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.shell').waitFor();
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** @returns what axe-core finds on a page, each with its first element */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

/** Whether a page is wider than its window. */
export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
