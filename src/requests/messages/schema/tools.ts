import { Type } from 'typebox';
import { docsUrl } from '../../../domain/docs-url.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { anyObject, cacheControl, maybe, openWord, strings, unknownKind } from '../../../schema/shapes.ts';
import { userLocation } from '../../../tools/web-search/shapes.ts';
import { hostedTools } from '../../responses/schema/hosted-tools.ts';
import { isServerToolType, otherTool, serverTools } from '../../responses/schema/server-tools.ts';
import { functionName } from '../../responses/schema/tools.ts';

/** Fields that every tool of the format may have. */
const common = {
  cache_control: maybe(cacheControl),
  strict: maybe(Type.Boolean()),
  defer_loading: maybe(Type.Boolean()),
  allowed_callers: maybe(strings()),
  input_examples: maybe(Type.Array(anyObject())),
};

const custom = Type.Object({
  type: Type.Optional(Type.Literal('custom')),
  name: functionName,
  description: maybe(Type.String()),
  input_schema: anyObject(),
  eager_input_streaming: maybe(Type.Boolean()),
  ...common,
});

const domains = { allowed_domains: maybe(strings()), blocked_domains: maybe(strings()) };

const webSearch = Type.Object({
  type: Type.String(),
  ...domains,
  max_uses: maybe(Type.Integer({ minimum: 1 })),
  user_location: maybe(userLocation),
  ...common,
});

const webFetch = Type.Object({
  type: Type.String(),
  ...domains,
  max_uses: maybe(Type.Integer({ minimum: 1 })),
  max_content_tokens: maybe(Type.Integer({ minimum: 1 })),
  citations: maybe(Type.Object({ enabled: Type.Optional(Type.Boolean()) })),
  ...common,
});

const advisor = Type.Object({
  type: Type.String(),
  model: Type.String({ minLength: 1 }),
  max_tokens: maybe(Type.Integer({ minimum: 1 })),
  ...common,
});

const toolset = Type.Object({
  type: Type.Literal('mcp_toolset'),
  mcp_server_name: Type.String({ minLength: 1 }),
  cache_control: maybe(cacheControl),
  default_config: maybe(anyObject()),
  configs: maybe(anyObject()),
});

const plain = Type.Object({ type: Type.String(), ...common });

/** The families of dated tool types of the format. The date is the version. */
const families = {
  web_search: webSearch,
  web_fetch: webFetch,
  code_execution: plain,
  bash: plain,
  text_editor: plain,
  memory: plain,
  computer: plain,
  computer_toolset: plain,
  browser_toolset: plain,
  tool_search_tool_regex: plain,
  tool_search_tool_bm25: plain,
  advisor,
};

export type ToolFamily = keyof typeof families;

const dated = /^([a-z_][a-z0-9_]*?)(?:_(\d{8}))?$/;

/** Whether the gateway runs a tool of a type. */
export const isGatewayType = (type: string): boolean => isServerToolType(type) || type === 'tool_search';

/** Returns the family of a type of the format, such as `web_search` of `web_search_20250305`. */
export function familyOf(type: string): ToolFamily | undefined {
  const name = dated.exec(type)?.[1];
  return name !== undefined && Object.hasOwn(families, name) ? (name as ToolFamily) : undefined;
}

/** A tool of a family, by its name without the date. */
const datedTool = byKind('a tool', 'family', families, {
  component: 'DatedTool',
  kindWithoutKey: ({ type }) => familyOf(String(type)),
});

/** An entry of `tools`: the format's own kinds, the gateway's, and those that only a provider knows. @see docs/reference/messages.md#tools */
export const messagesTool = byKind(
  'a tool',
  'type',
  { custom, mcp_toolset: toolset, ...serverTools, mcp: hostedTools.mcp },
  {
    component: 'MessagesTool',
    kindWithoutKey: () => 'custom',
    other: Type.Union([datedTool, otherTool.other]),
    takesOther: otherTool.takesOther,
    docs: docsUrl('reference/messages#tools'),
  },
);

const serial = { disable_parallel_tool_use: maybe(Type.Boolean()) };

/** @see docs/reference/messages.md#tools */
export const messagesToolChoice = byKind(
  'a tool choice',
  'type',
  {
    auto: Type.Object({ type: Type.Literal('auto'), ...serial }),
    any: Type.Object({ type: Type.Literal('any'), ...serial }),
    tool: Type.Object({ type: Type.Literal('tool'), name: Type.String({ minLength: 1 }), ...serial }),
    none: Type.Object({ type: Type.Literal('none') }),
  },
  { component: 'MessagesToolChoice', other: unknownKind },
);

/** @see docs/reference/messages.md#mcp-servers */
export const mcpServer = Type.Object({
  type: Type.Literal('url'),
  name: Type.String({ minLength: 1 }),
  url: Type.String({ minLength: 1 }),
  authorization_token: maybe(Type.String()),
  tool_configuration: maybe(Type.Object({ enabled: maybe(Type.Boolean()), allowed_tools: maybe(strings()) })),
});

/** Words that the format and the interface share. */
export const effort = openWord('low', 'medium', 'high', 'xhigh', 'max', 'minimal', 'none');
