import { withSites } from '../site-filter.ts';
import { memberOf, readList, type SearchDriver } from '../search-driver.ts';

/** Serper, Google's results. */
export const serper: SearchDriver = {
  id: 'serper',
  defaultUrl: 'https://google.serper.dev',
  maxResults: 100,
  writeRequest: (query, { baseUrl, apiKey = '' }) => ({
    url: new URL(`${baseUrl}/search`),
    headers: { 'x-api-key': apiKey },
    body: { q: withSites(query.text, query), num: query.count },
  }),
  readResults: (body) =>
    readList(memberOf(body, 'organic'))?.map(({ link, title, snippet }) => ({ url: link, title, texts: [snippet] })),
};
