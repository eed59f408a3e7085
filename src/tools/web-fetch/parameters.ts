import { Type } from 'typebox';
import { oneOf, strings } from '../../schema/shapes.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:web_fetch`. */
export const webFetchParameters = Type.Object(
  {
    allowed_domains: Type.Optional(strings()),
    blocked_domains: Type.Optional(strings()),
    engine: Type.Optional(oneOf('auto', 'native', 'router', 'exa', 'parallel', 'firecrawl')),
    max_content_tokens: Type.Optional(Type.Integer({ documented: { minimum: 1 } })),
    max_uses: Type.Optional(Type.Integer({ documented: { minimum: 0 } })),
  },
  closed,
);

/** The arguments of calls of `router:web_fetch`. */
export const webFetchArguments = Type.Object(
  { url: Type.String({ description: 'An http or https URL.', examples: ['https://example.com/'] }) },
  closed,
);
