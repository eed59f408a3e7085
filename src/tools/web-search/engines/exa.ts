import { listHosts, listWholeHosts } from '../site-filter.ts';
import { compact, memberOf, readList, type SearchDriver } from '../search-driver.ts';

const modes = new Set(['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning']);
/** Maximum number of domains in a filter. */
const MAX_DOMAINS = 1200;

/** Exa's search, with the text of each page. */
export const exa: SearchDriver = {
  id: 'exa',
  defaultUrl: 'https://api.exa.ai',
  maxResults: 100,
  writeRequest: ({ text, count, mode, include, exclude, maxCharacters }, { baseUrl, apiKey = '' }) => ({
    url: new URL(`${baseUrl}/search`),
    headers: { 'x-api-key': apiKey },
    body: compact({
      query: text,
      numResults: count,
      type: mode !== undefined && modes.has(mode) ? mode : 'auto',
      includeDomains: listHosts(include, MAX_DOMAINS),
      excludeDomains: listWholeHosts(exclude, MAX_DOMAINS),
      contents: { text: { maxCharacters } },
    }),
  }),
  readResults: (body) =>
    readList(memberOf(body, 'results'))?.map(({ url, title, text, highlights }) => ({
      url,
      title,
      texts: typeof text === 'string' && text !== '' ? [text] : Array.isArray(highlights) ? highlights : [],
    })),
};
