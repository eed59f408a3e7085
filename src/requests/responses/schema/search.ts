import { Type } from 'typebox';
import { maybe, oneOf, strings } from '../../../schema/shapes.ts';

/** @see docs/reference/tools.md#hosted-tools */
export const searchEngine = oneOf('native', 'exa', 'parallel', 'firecrawl', 'perplexity', 'auto');

/** Ignored where the engine has no such mode. */
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

/** How much text one result gives. */
export const searchContextSize = oneOf('low', 'medium', 'high');

const place = {
  city: maybe(Type.String()),
  region: maybe(Type.String()),
  country: maybe(Type.String()),
  timezone: maybe(Type.String()),
};

/** Where the user is, roughly. */
export const userLocation = Type.Object({ type: Type.Optional(Type.Literal('approximate')), ...place });

/** The same in the `preview` kinds and the `web` plugin, which need `type`. */
export const typedUserLocation = Type.Object({ type: Type.Literal('approximate'), ...place });

const handles = () => Type.Optional(Type.Array(Type.String(), { maxItems: 20 }));

/** One vendor's native search only. @see docs/reference/tools.md#hosted-tools */
export const xSearch = Type.Refine(
  Type.Object({
    allowed_x_handles: handles(),
    excluded_x_handles: handles(),
    from_date: Type.Optional(Type.String()),
    to_date: Type.Optional(Type.String()),
    enable_image_understanding: Type.Optional(Type.Boolean()),
    enable_video_understanding: Type.Optional(Type.Boolean()),
  }),
  (search) => search.allowed_x_handles === undefined || search.excluded_x_handles === undefined,
  () => 'takes `allowed_x_handles` or `excluded_x_handles`, not both',
);

/** Domains that a hosted search may or may not use. */
export const domainFilter = Type.Object({
  allowed_domains: maybe(strings()),
  blocked_domains: maybe(strings()),
  excluded_domains: maybe(strings()),
});
