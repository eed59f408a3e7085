import { listHosts, listWholeHosts } from '../site-filter.ts';
import { compact, memberOf, readList, type SearchDriver } from '../search-driver.ts';

/** Firecrawl's search, with the text of each page as markdown. It includes or excludes domains, not both. */
export const firecrawl: SearchDriver = {
  id: 'firecrawl',
  defaultUrl: 'https://api.firecrawl.dev/v2',
  maxResults: 100,
  writeRequest: ({ text, count, include, exclude }, { baseUrl, apiKey = '' }) => ({
    url: new URL(`${baseUrl}/search`),
    headers: { authorization: `Bearer ${apiKey}` },
    body: compact({
      query: text,
      limit: count,
      includeDomains: listHosts(include, 100),
      excludeDomains: include.length > 0 ? undefined : listWholeHosts(exclude, 100),
      scrapeOptions: { formats: ['markdown'] },
    }),
  }),
  /** An older version of its API returns the list without a kind. */
  readResults(body) {
    const data = memberOf(body, 'data');
    return readList(Array.isArray(data) ? data : memberOf(data, 'web'))?.map(
      ({ url, title, description, markdown }) => ({
        url,
        title,
        texts: typeof markdown === 'string' && markdown.trim() !== '' ? [markdown] : [description],
      }),
    );
  },
};
