import { listHosts, listWholeHosts } from '../site-filter.ts';
import { compact, memberOf, readList, type SearchDriver } from '../search-driver.ts';

/** Maximum number of domains in its filter, which either includes or excludes. */
const MAX_DOMAINS = 20;
/** Characters of a token, at least, in the texts of most pages. */
const CHARACTERS_PER_TOKEN = 3;

/** Perplexity's search, without its models. */
export const perplexity: SearchDriver = {
  id: 'perplexity',
  defaultUrl: 'https://api.perplexity.ai',
  maxResults: 20,
  writeRequest({ text, count, include, exclude, maxCharacters }, { baseUrl, apiKey = '' }) {
    const excluded = include.length > 0 ? undefined : listWholeHosts(exclude, MAX_DOMAINS);
    return {
      url: new URL(`${baseUrl}/search`),
      headers: { authorization: `Bearer ${apiKey}` },
      body: compact({
        query: text,
        max_results: count,
        max_tokens_per_page: Math.ceil(maxCharacters / CHARACTERS_PER_TOKEN),
        search_domain_filter: listHosts(include, MAX_DOMAINS) ?? excluded?.map((host) => `-${host}`),
      }),
    };
  },
  readResults: (body) =>
    readList(memberOf(body, 'results'))?.map(({ url, title, snippet }) => ({ url, title, texts: [snippet] })),
};
