import type { Issue } from '../../domain/errors.ts';
import { type DomainFilter, parseDomainFilter, passesFilters } from '../../domain/domain-filter.ts';
import { createUrlCheck } from '../../domain/reach.ts';
import type { ReadingShare } from '../../domain/reading-share.ts';
import { defineServerTool, type ServerTool, type ToolOutcome } from '../server-tool.ts';
import { cutContent } from './cut-content.ts';
import { type WebPage, PageError, type ReadPage } from './page.ts';
import { webFetchArguments, webFetchParameters } from './parameters.ts';

/** Maximum fetches of a response. */
const MAX_FETCHES = 50;

/** Engines that fetch with the gateway itself. */
const ownEngines: ReadonlySet<string> = new Set(['auto', 'native', 'router']);

/** Creates the tool that reads web pages and PDFs. @see docs/reference/tools/web-fetch.md */
export const createWebFetch = (readPage: ReadPage): ServerTool =>
  defineServerTool({
    type: 'router:web_fetch',
    description:
      'Fetches a web page, PDF or text file by its URL and returns its text as markdown. Use it for URLs in the ' +
      'conversation or in results of other tools. Do not use it to search, and do not guess URLs.',
    parameters: webFetchParameters,
    arguments: webFetchArguments,
    timeoutMs: 30_000,
    check: checkParameters,
    item: ({ url }) => ({ url }),
    async execute({ url }, parameters, { cancellation, now, earlierCalls, caller, memory }) {
      const limit = Math.min(parameters.max_uses ?? MAX_FETCHES, MAX_FETCHES);
      if (earlierCalls >= limit) {
        return fail(url, new PageError(`The limit of ${limit} fetches is reached (max_uses). Continue without it.`));
      }
      const filters = { include: read(parameters.allowed_domains), exclude: read(parameters.blocked_domains) };
      const checkReach = createUrlCheck(caller.reach, '');
      const check = (target: URL): void => {
        checkReach?.(target);
        if (passesFilters(target, filters)) return;
        throw new PageError(`The host ${target.hostname} is not allowed for this request.`);
      };
      try {
        memory['share'] ??= { workspaceId: caller.workspaceId, usedMs: 0 };
        const share = memory['share'] as ReadingShare; // only set here
        const page = await readPage(url, { cancellation, share, check });
        return succeed(page, cutContent(page.content, parameters.max_content_tokens), now());
      } catch (error) {
        if (error instanceof PageError) return fail(url, error);
        throw error;
      }
    },
    replay({ url, title, content, error }) {
      if (typeof url !== 'string') return undefined;
      if (typeof error === 'string') return { arguments: { url }, result: { url, status: 'failed', error } };
      if (typeof content !== 'string') return undefined;
      return { arguments: { url }, result: { url, title, content, status: 'completed' } };
    },
  });

function succeed({ url, title }: WebPage, content: string, nowMs: number): ToolOutcome {
  const page = { url, title, content };
  const result = { ...page, status: 'completed', retrieved_at: new Date(nowMs).toISOString() };
  return { result, item: { ...page, httpStatus: 200 } };
}

function fail(url: string, { message: error, status }: PageError): ToolOutcome {
  const httpStatus = status === undefined ? undefined : { httpStatus: status };
  return { result: { url, status: 'failed', error }, item: { url, error, ...httpStatus } };
}

/** The filters of a list. `checkParameters` has rejected invalid entries. */
const read = (domains: readonly string[] = []): DomainFilter[] =>
  domains.flatMap((entry) => parseDomainFilter(entry) ?? []);

/** Maximum entries of a list of domains. */
const MAX_DOMAINS = 1000;

function checkParameters(parameters: {
  engine?: string;
  allowed_domains?: string[];
  blocked_domains?: string[];
  max_content_tokens?: number;
  max_uses?: number;
}): Issue[] {
  const issues: Issue[] = [];
  const add = (field: string, says: string): void => {
    issues.push({ path: `parameters.${field}`, message: `\`${field}\` ${says}` });
  };
  const { engine = 'auto', max_content_tokens: tokens = 1, max_uses: uses = 1 } = parameters;
  if (!ownEngines.has(engine)) add('engine', `has no configured service: \`${engine}\`. Use \`auto\` or \`router\`.`);
  if (tokens < 1) add('max_content_tokens', `must be 1 or more, got ${tokens}.`);
  if (uses < 0) add('max_uses', `must be 0 or more, got ${uses}.`);
  for (const field of ['allowed_domains', 'blocked_domains'] as const) {
    const list = parameters[field] ?? [];
    if (list.length > MAX_DOMAINS) add(field, `has ${list.length} entries; at most ${MAX_DOMAINS} are allowed.`);
    const wrong = list.findIndex((entry) => !parseDomainFilter(entry));
    if (wrong !== -1)
      add(`${field}[${wrong}]`, 'is no domain, such as `example.com`, `*.example.com` or `example.com/docs`.');
  }
  return issues;
}
