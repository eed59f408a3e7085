import { Type } from 'typebox';
import { docsUrl } from '../../../domain/docs-url.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { anyObject, cacheControl, maybe, oneOf, unknownKind } from '../../../schema/shapes.ts';
import { hostedTools } from '../../responses/schema/hosted-tools.ts';
import { otherTool, serverTools } from '../../responses/schema/server-tools.ts';
import { functionName } from '../../responses/schema/tools.ts';

const functionShape = Type.Object({
  name: functionName,
  description: maybe(Type.String()),
  parameters: maybe(anyObject()),
  strict: maybe(Type.Boolean()),
  cache_control: maybe(cacheControl),
});

const functionTool = Type.Object({
  type: Type.Literal('function'),
  function: functionShape,
  async: Type.Optional(Type.Boolean()),
  defer_loading: Type.Optional(Type.Boolean()),
  cache_control: maybe(cacheControl),
});

const customTool = Type.Object({
  type: Type.Literal('custom'),
  custom: Type.Object({
    name: Type.String(),
    description: maybe(Type.String()),
    format: maybe(
      byKind(
        'a format of a custom tool',
        'type',
        {
          text: Type.Object({ type: Type.Literal('text') }),
          grammar: Type.Object({
            type: Type.Literal('grammar'),
            grammar: Type.Object({ definition: Type.String(), syntax: oneOf('lark', 'regex') }),
          }),
        },
        { component: 'ChatCustomToolFormat' },
      ),
    ),
    cache_control: maybe(cacheControl),
  }),
  cache_control: maybe(cacheControl),
});

const tools = { function: functionTool, custom: customTool, ...hostedTools, ...serverTools };

/** An entry of `tools`. @see docs/reference/chat-completions.md#tools */
export const chatTool = byKind('a tool', 'type', tools, {
  component: 'ChatTool',
  docs: docsUrl('reference/chat-completions#tools'),
  ...otherTool,
});

/** An entry of the older `functions`. */
export const legacyFunction = Type.Object({
  name: functionName,
  description: maybe(Type.String()),
  parameters: maybe(anyObject()),
});

const nameOnly = Type.Object({ name: Type.String() });
const namedFunction = Type.Object({ type: Type.Literal('function'), function: nameOnly });
const namedCustom = Type.Object({ type: Type.Literal('custom'), custom: nameOnly });
const namedTool = byKind(
  'a tool',
  'type',
  { function: namedFunction, custom: namedCustom },
  { component: 'NamedChatTool', other: Type.Object({ type: Type.String() }) },
);

/** @see docs/reference/chat-completions.md#tools */
export const chatToolChoice = Type.Union([
  oneOf('auto', 'none', 'required'),
  byKind(
    'a tool choice',
    'type',
    {
      function: namedFunction,
      custom: namedCustom,
      allowed_tools: Type.Object({
        type: Type.Literal('allowed_tools'),
        allowed_tools: Type.Object({ mode: oneOf('auto', 'required'), tools: Type.Array(namedTool) }),
      }),
    },
    { component: 'ChatToolChoice', other: unknownKind, takesOther: otherTool.takesOther },
  ),
]);

/** The older form of `tool_choice`. */
export const legacyChoice = Type.Union([oneOf('auto', 'none'), nameOnly]);
