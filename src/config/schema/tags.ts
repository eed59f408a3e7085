import { Type } from 'typebox';
import { MAX_TAGS, TAG_KEY, TAG_KEY_RULE } from '../../domain/tags.ts';

export const tagsSection = Type.Array(Type.String({ pattern: TAG_KEY, says: TAG_KEY_RULE }), {
  description:
    'Keys by which [tags](../guides/observability.md#tags) sort requests, such as `team`: keys of `metadata`, and of the header `X-Headgate-Tags`.',
  default: [],
  maxItems: MAX_TAGS,
  uniqueItems: true,
});
