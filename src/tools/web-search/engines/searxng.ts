import { withSites } from '../site-filter.ts';
import { memberOf, readList, type SearchDriver } from '../search-driver.ts';

/** A SearXNG instance. It must allow the format `json` (`search.formats`). The number of results is its own choice. */
export const searxng: SearchDriver = {
  id: 'searxng',
  defaultUrl: undefined,
  maxResults: 100,
  writeRequest(query, { baseUrl, apiKey }) {
    const url = new URL(`${baseUrl}/search`);
    url.searchParams.set('q', withSites(query.text, query));
    url.searchParams.set('format', 'json');
    return { url, headers: { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) } };
  },
  readResults: (body) =>
    readList(memberOf(body, 'results'))?.map(({ url, title, content }) => ({ url, title, texts: [content] })),
};
