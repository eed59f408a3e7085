import { type DomainFilter, parseDomainFilter } from '../../domain/domain-filter.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { PluginSetting, RequestSettings } from '../../domain/request.ts';
import type { SearchEngineName } from '../../domain/web-search.ts';

/** The fields of the plugin, with the names of the interface. Their shape has been checked. */
export interface WebSetting {
  engine?: 'native' | SearchEngineName;
  mode?: string;
  max_results?: number;
  max_uses?: number;
  search_prompt?: string;
  include_domains?: string[];
  exclude_domains?: string[];
  user_location?: object | null;
  x_search?: object;
}

/** The fields of one request, checked. */
export interface WebSettings extends Pick<WebSetting, 'engine' | 'mode' | 'search_prompt'> {
  readonly maxResults: number;
  readonly include: readonly DomainFilter[];
  readonly exclude: readonly DomainFilter[];
  /** The same search as a tool of the provider. */
  readonly nativeTool: Readonly<Record<string, unknown>>;
}

const DEFAULT_RESULTS = 5;
const MAX_RESULTS = 25;
const MAX_DOMAINS = 100;
/** Engines that include or exclude domains, but not both. */
const exclusive: ReadonlySet<string | undefined> = new Set(['parallel', 'firecrawl']);

/** @throws {GatewayError} `invalid_request`, which names each invalid field */
export function readWebSettings({ plugins = [] }: RequestSettings, given: PluginSetting): WebSettings {
  const setting = given as PluginSetting & WebSetting; // the schema has checked its shape
  const path = `plugins[${Math.max(plugins.indexOf(given), 0)}]`;
  const issues: Issue[] = [];
  const { engine, mode, max_results: maxResults = DEFAULT_RESULTS, search_prompt } = setting;
  if (maxResults < 1 || maxResults > MAX_RESULTS) {
    const message = `must be from 1 to ${MAX_RESULTS}, not ${maxResults}.`;
    issues.push({ path: `${path}.max_results`, message });
  }
  const readDomains = (field: 'include_domains' | 'exclude_domains'): DomainFilter[] => {
    const entries = setting[field] ?? [];
    if (entries.length > MAX_DOMAINS) {
      issues.push({ path: `${path}.${field}`, message: `has ${entries.length} entries; at most ${MAX_DOMAINS}.` });
      return [];
    }
    return entries.flatMap((entry, index) => {
      const filter = parseDomainFilter(entry);
      if (filter) return [filter];
      const message = `must be a domain like example.com, *.example.com or example.com/blog, not ${JSON.stringify(entry.slice(0, 100))}.`;
      issues.push({ path: `${path}.${field}[${index}]`, message });
      return [];
    });
  };
  const include = readDomains('include_domains');
  const exclude = readDomains('exclude_domains');
  if (exclusive.has(engine) && include.length > 0 && exclude.length > 0) {
    const message = `cannot be combined with include_domains: the engine ${engine} accepts one of them.`;
    issues.push({ path: `${path}.exclude_domains`, message });
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return {
    ...(engine !== undefined && { engine }),
    ...(mode !== undefined && { mode }),
    ...(search_prompt !== undefined && { search_prompt }),
    maxResults,
    include,
    exclude: engine === 'perplexity' && include.length > 0 ? [] : exclude, // this engine lets include win
    nativeTool: writeNativeTool(setting),
  };
}

function writeNativeTool(setting: WebSetting): Record<string, unknown> {
  const { include_domains: include = [], exclude_domains: exclude = [], user_location, max_uses, x_search } = setting;
  return {
    type: 'web_search',
    ...((include.length > 0 || exclude.length > 0) && {
      filters: {
        ...(include.length > 0 && { allowed_domains: include }),
        ...(exclude.length > 0 && { excluded_domains: exclude }),
      },
    }),
    ...(user_location && { user_location }),
    ...(max_uses !== undefined && { max_uses }),
    ...(x_search && { x_search }),
  };
}
