import { Type } from 'typebox';
import { maybe, oneOf, strings } from '../../schema/shapes.ts';

/** @see docs/reference/tools.md#hosted-tools */
export const searchEngine = oneOf('native', 'exa', 'parallel', 'firecrawl', 'perplexity', 'auto');

/** Ignored by engines without such a mode. */
export const searchMode = oneOf(
  'instant',
  'fast',
  'auto',
  'deep-lite',
  'deep',
  'deep-reasoning',
  'turbo',
  'basic',
  'advanced',
);

/** The amount of text per result. */
export const contextSizes = ['low', 'medium', 'high'] as const;
export const searchContextSize = oneOf(...contextSizes);

const place = {
  city: maybe(Type.String()),
  region: maybe(Type.String()),
  country: maybe(Type.String()),
  timezone: maybe(Type.String()),
};

/** The approximate location of the user. */
export const userLocation = Type.Object({ type: Type.Optional(Type.Literal('approximate')), ...place });

/** The same for the `preview` kinds and the `web` plugin, which require `type`. */
export const typedUserLocation = Type.Object({ type: Type.Literal('approximate'), ...place });

const handles = () => Type.Optional(Type.Array(Type.String(), { maxItems: 20 }));

/** The native search of one vendor only. @see docs/reference/tools.md#hosted-tools */
export const xSearch = Type.Refine(
  Type.Object(
    {
      allowed_x_handles: handles(),
      excluded_x_handles: handles(),
      from_date: Type.Optional(Type.String()),
      to_date: Type.Optional(Type.String()),
      enable_image_understanding: Type.Optional(Type.Boolean()),
      enable_video_understanding: Type.Optional(Type.Boolean()),
    },
    { documented: { not: { required: ['allowed_x_handles', 'excluded_x_handles'] } } },
  ),
  (search) => search.allowed_x_handles === undefined || search.excluded_x_handles === undefined,
  () => 'takes `allowed_x_handles` or `excluded_x_handles`, not both',
);

/** Domains that a hosted search may use, and domains that it must not use. */
export const domainFilter = Type.Object({
  allowed_domains: maybe(strings()),
  blocked_domains: maybe(strings()),
  excluded_domains: maybe(strings()),
});
