import { Type } from 'typebox';
import { createCheck } from '../../../schema/create-check.ts';
import { type InputItem as DomainItem, reasoningFormats } from '../../../domain/items.ts';
import { docsUrl } from '../../../domain/docs-url.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { anyEffort, itemStatus, maybe, nullable, oneOf, openWord, unknownKind } from '../../../schema/shapes.ts';
import { hostedItems } from './hosted-items.ts';
import { agentPart, assistantPart, inputPart, reasoningText, summaryText, toolOutputPart } from './parts.ts';
import { routerItems } from './router-items.ts';
import { announcedTool } from './tools.ts';

const phase = maybe(openWord('commentary', 'final_answer'));

const inputMessage = <Role extends 'user' | 'system' | 'developer'>(role: Role) =>
  Type.Object({
    type: Type.Optional(Type.Literal('message')),
    role: Type.Literal(role),
    id: Type.Optional(Type.String()),
    content: Type.Optional(Type.Union([Type.String(), Type.Array(inputPart), Type.Null()])),
    phase,
  });

/** An easy message or a replayed output message: `id`, `status` and `content` may be missing. */
const assistantMessage = Type.Object({
  type: Type.Optional(Type.Literal('message')),
  role: Type.Literal('assistant'),
  id: Type.Optional(Type.String()),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(assistantPart), Type.Null()])),
  phase,
  status: Type.Optional(itemStatus),
  model: Type.Optional(Type.String()),
});

const message = byKind(
  'a message',
  'role',
  {
    user: inputMessage('user'),
    assistant: assistantMessage,
    system: inputMessage('system'),
    developer: inputMessage('developer'),
  },
  { component: 'InputMessage' },
);

const reasoning = Type.Object({
  type: Type.Literal('reasoning'),
  id: Type.Optional(Type.String()),
  summary: maybe(Type.Array(summaryText)),
  content: maybe(Type.Array(reasoningText)),
  encrypted_content: maybe(Type.String()),
  format: maybe(oneOf(...reasoningFormats)),
  signature: maybe(Type.String()),
  status: Type.Optional(itemStatus),
});

const functionCall = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.Optional(Type.String()),
  call_id: Type.String(),
  name: Type.String(),
  arguments: Type.String(),
  async: Type.Optional(Type.Boolean()),
  namespace: Type.Optional(Type.String()),
  status: Type.Optional(itemStatus),
  subagent_id: Type.Optional(Type.String()),
  subagent_items: Type.Optional(Type.Array(Type.Object({ type: Type.String() }))),
});

const output = Type.Union([Type.String(), Type.Array(toolOutputPart)]);

const functionCallOutput = Type.Object({
  type: Type.Literal('function_call_output'),
  id: maybe(Type.String()),
  call_id: Type.String(),
  output,
  status: maybe(itemStatus),
});

const customToolCall = Type.Object({
  type: Type.Literal('custom_tool_call'),
  id: Type.Optional(Type.String()),
  call_id: Type.String(),
  name: Type.String(),
  input: Type.String(),
  async: Type.Optional(Type.Boolean()),
  namespace: Type.Optional(Type.String()),
  status: Type.Optional(itemStatus),
});

const customToolCallOutput = Type.Object({
  type: Type.Literal('custom_tool_call_output'),
  id: Type.Optional(Type.String()),
  call_id: Type.String(),
  output,
});

const additionalTools = Type.Object({
  type: Type.Literal('additional_tools'),
  role: oneOf('unknown', 'user', 'assistant', 'system', 'critic', 'discriminator', 'developer', 'tool'),
  tools: Type.Array(announcedTool),
  id: maybe(Type.String()),
});

const agentMessage = Type.Object({
  type: Type.Literal('agent_message'),
  author: Type.String(),
  recipient: Type.String(),
  content: Type.Array(agentPart),
  agent: maybe(Type.Object({ agent_name: Type.String() })),
  id: maybe(Type.String()),
});

const configurationUpdate = Type.Object({
  type: Type.Literal('configuration_update'),
  reasoning: Type.Object({ effort: anyEffort }),
  id: maybe(Type.String()),
});

/** Every kind of `input` entry: docs/reference/items.md#input-items */
export const inputItem = byKind(
  'an input item',
  'type',
  {
    message,
    reasoning,
    function_call: functionCall,
    function_call_output: functionCallOutput,
    custom_tool_call: customToolCall,
    custom_tool_call_output: customToolCallOutput,
    item_reference: Type.Object({ type: Type.Literal('item_reference'), id: Type.String() }),
    compaction: Type.Object({
      type: Type.Literal('compaction'),
      encrypted_content: Type.String(),
      id: maybe(Type.String()),
    }),
    context_compaction: Type.Object({
      type: Type.Literal('context_compaction'),
      encrypted_content: Type.Optional(nullable(Type.String())),
      id: maybe(Type.String()),
    }),
    compaction_trigger: Type.Object({ type: Type.Literal('compaction_trigger') }),
    additional_tools: additionalTools,
    agent_message: agentMessage,
    configuration_update: configurationUpdate,
    ...hostedItems,
    ...routerItems,
  },
  {
    kindWithoutKey: (item) => (Object.hasOwn(item, 'role') ? 'message' : undefined),
    other: unknownKind, // choice 272
    // Generators join the kinds, and its `serverLabel` is `server_label` of another kind there.
    undocumented: 'router:mcp',
    docs: docsUrl('reference/items'),
  },
);

const check = createCheck(Type.Array(inputItem));

/** Whether each entry has the shape of an input item. */
export const isInputList = (items: readonly unknown[]): items is DomainItem[] => check(items);
