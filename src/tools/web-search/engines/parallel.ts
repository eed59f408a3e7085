import { listHosts, listWholeHosts } from '../site-filter.ts';
import { compact, memberOf, readList, type SearchDriver } from '../search-driver.ts';

const modes = new Set(['turbo', 'fast', 'basic', 'advanced']);
/** Longest keyword query. The whole text is its objective. */
const MAX_QUERY = 200;

/** Parallel's search. It includes or excludes domains, not both. */
export const parallel: SearchDriver = {
  id: 'parallel',
  defaultUrl: 'https://api.parallel.ai/v1',
  maxResults: 40,
  writeRequest({ text, count, mode, include, exclude, maxCharacters }, { baseUrl, apiKey = '' }) {
    const policy = compact({
      include_domains: listHosts(include, 200),
      exclude_domains: include.length > 0 ? undefined : listWholeHosts(exclude, 200),
    });
    return {
      url: new URL(`${baseUrl}/search`),
      headers: { 'x-api-key': apiKey },
      body: {
        objective: text,
        search_queries: [text.slice(0, MAX_QUERY)],
        mode: mode !== undefined && modes.has(mode) ? mode : 'basic',
        advanced_settings: {
          max_results: count,
          excerpt_settings: { max_chars_per_result: maxCharacters },
          ...(Object.keys(policy).length > 0 && { source_policy: policy }),
        },
      },
    };
  },
  readResults: (body) =>
    readList(memberOf(body, 'results'))?.map(({ url, title, excerpts }) => ({
      url,
      title,
      texts: Array.isArray(excerpts) ? excerpts : [],
    })),
};
