import { invalidRequest, type Issue } from '../domain/errors.ts';
import { TAG_VALUE, TAG_VALUE_RULE, type Tags } from '../domain/tags.ts';
import { fieldPath, show } from '../schema/report.ts';

export const TAGS_HEADER = 'x-headgate-tags';

/** The metadata of a body. Values that are not texts can be anything. */
export type RequestMetadata = Readonly<Record<string, unknown>> | null;

const tagValue = new RegExp(TAG_VALUE);

/**
 * Reads the tags of a request from its header and its metadata. The header has precedence for each key. Metadata with
 * other keys than those of the operator is no tag. An empty value counts as absent.
 *
 * @param keys from `tags` in the configuration
 * @param header `team=search, feature=summary`; Node joins repeated headers
 * @param field name of the metadata in the body
 * @returns undefined if it has none
 * @throws {GatewayError} `invalid_request`
 * @see docs/guides/observability.md#tags
 */
export function readTags(
  keys: readonly string[],
  header: unknown,
  metadata: RequestMetadata | undefined,
  field = 'metadata',
): Tags | undefined {
  const isNamed = typeof header === 'string' && header !== '';
  if (!isNamed && (!metadata || keys.length === 0)) return undefined; // nearly always
  const issues: Issue[] = [];
  const found = new Map(isNamed ? readHeader(keys, header, issues) : []);
  for (const key of keys) {
    if (!metadata || found.has(key) || !Object.hasOwn(metadata, key)) continue;
    const value = writeValue(metadata[key]);
    if (value === '') continue;
    if (tagValue.test(value)) found.set(key, value);
    else {
      const path = fieldPath(field, key);
      issues.push({ path, message: `The value of the tag \`${key}\` ${TAG_VALUE_RULE}, got ${show(value)}.` });
    }
  }
  if (issues.length > 0) throw invalidRequest(issues);
  const tags = [...found].filter(([, value]) => value !== '');
  return tags.length > 0 ? Object.fromEntries(tags.sort(([a], [b]) => (a < b ? -1 : 1))) : undefined;
}

/** @param issues receives at most one */
function readHeader(keys: readonly string[], header: string, issues: Issue[]): [string, string][] {
  const tags: [string, string][] = [];
  for (const part of header.split(',')) {
    const end = part.indexOf('=');
    const key = part.slice(0, Math.max(0, end)).trim();
    const value = part.slice(end + 1).trim();
    const problem =
      checkTag(keys, part, key, value) ??
      (tags.some(([other]) => other === key) ? `\`${key}\` is named twice` : undefined);
    if (problem !== undefined) {
      issues.push({ path: TAGS_HEADER, message: `${problem}.` });
      return [];
    }
    tags.push([key, value]);
  }
  return tags;
}

function checkTag(keys: readonly string[], part: string, key: string, value: string): string | undefined {
  if (key === '') return `Write tags like \`team=search, feature=summary\`, got ${show(part.trim())}`;
  if (!keys.includes(key)) {
    const known =
      keys.length === 0
        ? '`tags` of the configuration lists none'
        : `The tags are ${keys.map((name) => `\`${name}\``).join(', ')}`;
    return `${show(key)} is no tag of this gateway. ${known}`;
  }
  return value === '' || tagValue.test(value)
    ? undefined
    : `The value of \`${key}\` ${TAG_VALUE_RULE}, got ${show(value)}`;
}

/** Clients of some APIs send other values than texts. */
const writeValue = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : value === null || value === undefined ? '' : JSON.stringify(value);
