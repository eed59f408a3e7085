import { type TUnsafe, Type } from 'typebox';
import { docsUrl } from '../../../domain/docs-url.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { maybe, oneOf, unknownKind } from '../../../schema/shapes.ts';
import { otherTool, type ServerToolType, serverTools } from './server-tools.ts';

const ofType = <const Kind extends string>(type: Kind) => Type.Object({ type: Type.Literal(type) });
const named = <const Kind extends string>(type: Kind) => Type.Object({ type: Type.Literal(type), name: Type.String() });

type ServerToolChoice = { type: Exclude<ServerToolType, 'tool_search'> };

const serverToolChoices: Record<ServerToolChoice['type'], TUnsafe<ServerToolChoice>> = Object.fromEntries(
  Object.keys(serverTools)
    .filter((type) => type.startsWith('router:'))
    .map((type) => [type, Type.Unsafe<ServerToolChoice>(ofType(type))]),
  // The type of `fromEntries` loses the keys. They are those of `serverTools` without the alias.
) as Record<ServerToolChoice['type'], TUnsafe<ServerToolChoice>>;

/** @see docs/reference/tools.md#tool-choice */
export const toolChoice = Type.Union([
  oneOf('auto', 'none', 'required'),
  byKind(
    'a tool choice',
    'type',
    {
      function: named('function'),
      custom: named('custom'),
      web_search_preview: ofType('web_search_preview'),
      web_search_preview_2025_03_11: ofType('web_search_preview_2025_03_11'),
      apply_patch: ofType('apply_patch'),
      shell: ofType('shell'),
      mcp: Type.Object({ type: Type.Literal('mcp'), server_label: Type.String(), name: maybe(Type.String()) }),
      allowed_tools: Type.Object({
        type: Type.Literal('allowed_tools'),
        mode: oneOf('auto', 'required'),
        tools: Type.Array(Type.Object({ type: Type.String(), name: Type.Optional(Type.String()) })),
      }),
      ...serverToolChoices,
    },
    {
      other: unknownKind,
      takesOther: otherTool.takesOther,
      docs: docsUrl('reference/tools#tool-choice'),
    },
  ),
]);
