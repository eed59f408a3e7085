/**
 * The values of a request's tags, by key, in the order of the keys. The operator lists the keys in `tags`.
 *
 * @see docs/guides/observability.md#tags
 */
export type Tags = Readonly<Record<string, string>>;

/** Maximum number of keys. */
export const MAX_TAGS = 10;

/** Keys and values have none of the characters that separate tags in a header, a query or JSON. */
export const TAG_KEY = '^[A-Za-z][A-Za-z0-9_.-]{0,39}$';
export const TAG_KEY_RULE = 'must be at most 40 letters, digits and `_.-`, and begin with a letter';
export const TAG_VALUE = '^[A-Za-z0-9_.:/@+-](?:[A-Za-z0-9_.:/@+ -]{0,62}[A-Za-z0-9_.:/@+-])?$';
export const TAG_VALUE_RULE = 'must be at most 64 letters, digits, spaces and `_.:/@+-`';

/** Writes tags as the header `X-Headgate-Tags`. */
export const writeTags = (tags: Tags): string =>
  Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
