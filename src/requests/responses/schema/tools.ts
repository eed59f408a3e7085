import { Type } from 'typebox';
import { docsUrl } from '../../../domain/docs-url.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { anyObject, cacheControl, maybe, oneOf } from '../../../schema/shapes.ts';
import { hostedTools } from './hosted-tools.ts';
import { otherTool, serverTools } from './server-tools.ts';

/**
 * The name of a function. MCP allows these names, and a name that a provider refuses is renamed there.
 * Source: modelcontextprotocol/modelcontextprotocol#986
 */
export const functionName = Type.String({
  pattern: '^[A-Za-z0-9_./:-]{1,128}$',
  says: 'must be 1 to 128 letters, digits, `_`, `-`, `.`, `/` or `:`',
});

const functionFields = {
  type: Type.Literal('function'),
  name: functionName,
  description: maybe(Type.String()),
  parameters: maybe(anyObject()),
  strict: maybe(Type.Boolean()),
  async: Type.Optional(Type.Boolean()),
  defer_loading: Type.Optional(Type.Boolean()),
  cache_control: maybe(cacheControl),
};

const custom = Type.Object({
  type: Type.Literal('custom'),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  format: Type.Optional(
    byKind('a format of a custom tool', 'type', {
      text: Type.Object({ type: Type.Literal('text') }),
      grammar: Type.Object({
        type: Type.Literal('grammar'),
        definition: Type.String(),
        syntax: oneOf('lark', 'regex'),
      }),
    }),
  ),
  async: Type.Optional(Type.Boolean()),
});

const namespace = Type.Object({
  type: Type.Literal('namespace'),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  tools: Type.Array(
    byKind('a tool of a namespace', 'type', {
      function: Type.Object({
        ...functionFields,
        allowed_callers: maybe(Type.Array(oneOf('direct', 'programmatic'))),
        output_schema: maybe(anyObject()),
      }),
      custom,
    }),
  ),
});

/** A search for tools that the client runs, as Codex has it. Source: CommandCodeAI/command-code#885 */
const clientSearch = Type.Object({
  type: Type.Literal('tool_search'),
  execution: Type.String({ pattern: '^client$', says: 'must be `client`' }),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(anyObject()),
});

const tools = {
  function: Type.Object(functionFields),
  custom,
  namespace,
  ...hostedTools,
  ...serverTools,
  tool_search: Type.Union([serverTools.tool_search, clientSearch]),
};

/** An entry of `tools`. Unlisted kinds pass, because a provider of the format may know them. @see docs/reference/tools.md */
export const tool = byKind('a tool', 'type', tools, { docs: docsUrl('reference/tools'), ...otherTool });

/** An entry of `additional_tools.tools`: a tool of a known kind, or any object with a `type`. */
export const announcedTool = byKind('a tool', 'type', tools, {
  component: 'AnnouncedTool',
  kindComponent: 'Tool',
  other: Type.Object({ type: Type.String() }),
});
