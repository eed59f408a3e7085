import { listHosts, listWholeHosts } from '../site-filter.ts';
import { compact, memberOf, readList, type SearchDriver } from '../search-driver.ts';

const deepModes = new Set(['deep-lite', 'deep', 'deep-reasoning', 'advanced']);

/** Tavily's search. */
export const tavily: SearchDriver = {
  id: 'tavily',
  defaultUrl: 'https://api.tavily.com',
  maxResults: 20,
  writeRequest: ({ text, count, mode, include, exclude }, { baseUrl, apiKey = '' }) => ({
    url: new URL(`${baseUrl}/search`),
    headers: { authorization: `Bearer ${apiKey}` },
    body: compact({
      query: text,
      max_results: count,
      search_depth: mode !== undefined && deepModes.has(mode) ? 'advanced' : 'basic',
      include_domains: listHosts(include, 300),
      exclude_domains: listWholeHosts(exclude, 150),
    }),
  }),
  readResults: (body) =>
    readList(memberOf(body, 'results'))?.map(({ url, title, content }) => ({ url, title, texts: [content] })),
};
