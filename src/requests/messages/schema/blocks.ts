import { type TSchema, Type } from 'typebox';
import { docsUrl } from '../../../domain/docs-url.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { anyObject, cacheControl, maybe, openWord, unknownKind } from '../../../schema/shapes.ts';

/** A breakpoint of the prompt cache. Clients send null for none. */
const mark = { cache_control: maybe(cacheControl) };

const citations = maybe(Type.Object({ enabled: Type.Optional(Type.Boolean()) }));

/** @see docs/reference/messages.md#content-blocks */
export const textBlock = Type.Object({
  type: Type.Literal('text'),
  text: Type.String(),
  citations: maybe(Type.Array(unknownKind)),
  ...mark,
});

const sources = {
  base64: Type.Object({ type: Type.Literal('base64'), media_type: Type.String(), data: Type.String() }),
  url: Type.Object({ type: Type.Literal('url'), url: Type.String() }),
  file: Type.Object({ type: Type.Literal('file'), file_id: Type.String() }),
};

const imageSource = byKind('a source of an image', 'type', sources, {
  component: 'ImageSource',
  kindComponent: 'Source',
  other: unknownKind,
});

const imageBlock = Type.Object({ type: Type.Literal('image'), source: imageSource, ...mark });

const documentSources = {
  ...sources,
  text: Type.Object({
    type: Type.Literal('text'),
    media_type: Type.Optional(Type.Literal('text/plain')),
    data: Type.String(),
  }),
  content: Type.Object({
    type: Type.Literal('content'),
    content: Type.Union([
      Type.String(),
      Type.Array(
        byKind('a block of a document', 'type', {
          text: textBlock,
          image: Type.Object({
            type: Type.Literal('image'),
            source: byKind('a source of an image', 'type', sources, {
              component: 'DocumentImageSource',
              kindComponent: 'Source',
            }),
            ...mark,
          }),
        }),
      ),
    ]),
  }),
};

const documentSource = byKind('a source of a document', 'type', documentSources, {
  component: 'DocumentSource',
  kindComponent: 'Source',
  other: unknownKind,
});

/** The kinds of sources that become parts. A block with another one passes to the native wire. */
export const knownSources: Readonly<Record<'image' | 'document', ReadonlySet<string>>> = {
  image: new Set(Object.keys(sources)),
  document: new Set(Object.keys(documentSources)),
};

const documentBlock = Type.Object({
  type: Type.Literal('document'),
  source: documentSource,
  title: maybe(Type.String()),
  context: maybe(Type.String()),
  citations,
  ...mark,
});

const searchResultBlock = Type.Object({
  type: Type.Literal('search_result'),
  source: Type.String(),
  title: Type.String(),
  content: Type.Array(textBlock),
  citations,
  ...mark,
});

const resultBlocks = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
};

const toolResultBlock = Type.Object({
  type: Type.Literal('tool_result'),
  tool_use_id: Type.String({ minLength: 1 }),
  content: maybe(
    Type.Union([
      Type.String(),
      Type.Array(
        byKind('a block of a tool result', 'type', resultBlocks, { kindComponent: 'Block', other: unknownKind }),
      ),
    ]),
  ),
  is_error: maybe(Type.Boolean()),
  ...mark,
});

const toolUseBlock = Type.Object({
  type: Type.Literal('tool_use'),
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  input: anyObject(),
  ...mark,
});

const thinkingBlock = Type.Object({
  type: Type.Literal('thinking'),
  thinking: Type.String(),
  signature: Type.Optional(Type.String()),
});

const redactedThinkingBlock = Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() });

/** Blocks of other roles and other APIs. They are not new kinds. */
const reservedFor = (...types: string[]): ReadonlyMap<string, undefined> =>
  new Map(
    ['input_text', 'output_text', 'input_image', 'input_file', 'image_url', ...types].map((type) => [type, undefined]),
  );

const docs = docsUrl('reference/messages#content-blocks');

const ownBlocks = { ...resultBlocks, tool_result: toolResultBlock };
const modelBlocks = {
  ...resultBlocks,
  thinking: thinkingBlock,
  redacted_thinking: redactedThinkingBlock,
  tool_use: toolUseBlock,
};

/** A block of a user's turn. Unlisted kinds pass to the native wire. */
export const userBlock = byKind('a content block', 'type', ownBlocks, {
  component: 'UserBlock',
  kindComponent: 'Block',
  other: unknownKind,
  reserved: reservedFor('tool_use', 'thinking', 'redacted_thinking'),
  docs,
});

/** A block of the model's turn. Unlisted kinds pass to the native wire, such as results of its tools. */
export const assistantBlock = byKind('a content block', 'type', modelBlocks, {
  component: 'AssistantBlock',
  kindComponent: 'Block',
  other: unknownKind,
  reserved: reservedFor('tool_result'),
  docs,
});

/** A block of an instruction within the conversation. Unlisted kinds pass to the native wire, such as changes of tools. */
const systemBlock = byKind(
  'a content block',
  'type',
  { text: textBlock },
  {
    component: 'SystemBlock',
    kindComponent: 'Block',
    other: unknownKind,
    reserved: reservedFor(
      'tool_use',
      'tool_result',
      'thinking',
      'redacted_thinking',
      'image',
      'document',
      'search_result',
    ),
    docs,
  },
);

const turn = <const Role extends string, Block extends TSchema>(role: Role, block: Block) =>
  Type.Object({ role: Type.Literal(role), content: Type.Union([Type.String(), Type.Array(block)]) });

/** An entry of `messages`. */
export const message = byKind(
  'a message',
  'role',
  {
    user: turn('user', userBlock),
    assistant: turn('assistant', assistantBlock),
    system: turn('system', systemBlock),
  },
  // Names of chat completions. Results of tools are blocks of the user here.
  {
    component: 'MessagesTurn',
    reserved: new Map([
      ['tool', 'user'],
      ['developer', 'system'],
    ]),
  },
);

/** The kinds of blocks by role, for docs. */
export const blockKinds: readonly string[] = [...new Set([...Object.keys(ownBlocks), ...Object.keys(modelBlocks)])];

/** @see docs/reference/messages.md#reasoning */
export const thinking = byKind(
  'a thinking setting',
  'type',
  {
    enabled: Type.Object({
      type: Type.Literal('enabled'),
      budget_tokens: Type.Optional(Type.Integer({ minimum: 1 })),
      display: maybe(openWord('summarized', 'omitted')),
    }),
    adaptive: Type.Object({ type: Type.Literal('adaptive'), display: maybe(openWord('summarized', 'omitted')) }),
    disabled: Type.Object({ type: Type.Literal('disabled') }),
    between_tools: Type.Object({ type: Type.Literal('between_tools') }),
  },
  { other: unknownKind },
);
