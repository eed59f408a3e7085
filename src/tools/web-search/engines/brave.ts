import { withSites } from '../site-filter.ts';
import { memberOf, readList, type SearchDriver } from '../search-driver.ts';

/** Longest query that Brave accepts, in words. */
const MAX_WORDS = 50;

/** Brave's web search. */
export const brave: SearchDriver = {
  id: 'brave',
  defaultUrl: 'https://api.search.brave.com/res/v1',
  maxResults: 20,
  writeRequest(query, { baseUrl, apiKey = '' }) {
    const url = new URL(`${baseUrl}/web/search`);
    const sites = withSites('', query).trim();
    const words = query.text.split(/\s+/).slice(0, MAX_WORDS - (sites === '' ? 0 : sites.split(' ').length));
    url.searchParams.set('q', [...words, sites].join(' ').trim());
    url.searchParams.set('count', String(query.count));
    url.searchParams.set('text_decorations', 'false');
    url.searchParams.set('extra_snippets', 'true');
    return { url, headers: { 'x-subscription-token': apiKey } };
  },
  readResults(body) {
    const web = memberOf(body, 'web');
    if (web === undefined && memberOf(body, 'type') === 'search') return []; // nothing was found
    return readList(memberOf(web, 'results'))?.map(({ url, title, description, extra_snippets: extra }) => ({
      url,
      title,
      texts: [description, ...(Array.isArray(extra) ? extra : [])],
    }));
  },
};
