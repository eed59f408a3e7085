import { Type } from 'typebox';
import { byKind } from '../../../schema/by-kind.ts';
import { cacheControl, maybe, oneOf, unknownKind } from '../../../schema/shapes.ts';

const breakpoint = Type.Object({ mode: Type.Literal('explicit') });
const cached = { cache_control: maybe(cacheControl), prompt_cache_breakpoint: maybe(breakpoint) };

const text = Type.Object({ type: Type.Literal('text'), text: Type.String(), ...cached });

const image = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({ url: Type.String(), detail: maybe(oneOf('auto', 'high', 'low', 'original')) }),
  ...cached,
});

const isText = (value: unknown) => typeof value === 'string';

const file = Type.Object({
  type: Type.Literal('file'),
  file: Type.Refine(
    Type.Object({ file_data: maybe(Type.String()), file_id: maybe(Type.String()), filename: maybe(Type.String()) }),
    ({ file_data: data, file_id: id }) => isText(data) || isText(id),
    () => 'needs a source: one of `file_data`, `file_id`',
  ),
  ...cached,
});

const audio = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(), format: oneOf('mp3', 'wav') }),
  ...cached,
});

const video = Type.Object({
  type: Type.Literal('video_url'),
  video_url: Type.Object({ url: Type.String() }),
  ...cached,
});

const refusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });

/** Names of the same parts in other APIs → the name here, if it is a part. `settle-neighbors.ts` rewrites them. */
const reserved: ReadonlyMap<string, string | undefined> = new Map<string, string | undefined>([
  ['input_text', 'text'],
  ['output_text', 'text'],
  ['input_image', 'image_url'],
  ['image', 'image_url'],
  ['input_file', 'file'],
  ['document', 'file'],
  ['input_video', 'video_url'],
  ['tool_use', undefined],
  ['tool_result', undefined],
]);

const inputParts = { text, image_url: image, file, input_audio: audio, video_url: video };

/** Unlisted kinds pass, because a provider of the format may know them. */
const unknownKinds = { other: unknownKind, reserved };

/** Each kind of part. */
export const partShapes = { ...inputParts, refusal };

/** A part of a message that the model reads. @see docs/reference/chat-completions.md#content-parts */
export const chatPart = byKind('a content part', 'type', inputParts, {
  component: 'ChatPart',
  ...unknownKinds,
});

/** A part of an assistant message. */
export const answerPart = byKind('a part of an assistant message', 'type', partShapes, {
  component: 'ChatAssistantPart',
  kindComponent: 'ChatPart',
  ...unknownKinds,
});

/** A generated image of an earlier response. */
export const generatedImage = Type.Object({
  type: Type.Optional(Type.Literal('image_url')),
  image_url: Type.Object({ url: Type.String() }),
});

const position = { start_index: Type.Optional(Type.Integer()), end_index: Type.Optional(Type.Integer()) };

/** An annotation of an earlier response. Unlisted kinds pass. */
export const annotation = byKind(
  'an annotation',
  'type',
  {
    url_citation: Type.Object({
      type: Type.Literal('url_citation'),
      url_citation: Type.Object({
        url: Type.String(),
        title: maybe(Type.String()),
        content: maybe(Type.String()),
        ...position,
      }),
    }),
  },
  { component: 'ChatAnnotation', other: unknownKind },
);

/** A block of thinking of an earlier response of Claude, as LiteLLM has it. https://docs.litellm.ai/docs/reasoning_content */
export const thinkingBlock = byKind(
  'a block of thinking',
  'type',
  {
    thinking: Type.Object({
      type: Type.Literal('thinking'),
      thinking: maybe(Type.String()),
      signature: maybe(Type.String()),
    }),
    redacted_thinking: Type.Object({ type: Type.Literal('redacted_thinking'), data: maybe(Type.String()) }),
  },
  { other: unknownKind },
);

const commonDetail = {
  id: maybe(Type.String()),
  format: maybe(Type.String()),
  index: maybe(Type.Integer()),
  tool_call_id: maybe(Type.String()),
};

/** A block of reasoning of an earlier response. @see docs/reference/chat-completions.md#reasoning */
export const reasoningDetail = byKind(
  'a block of reasoning',
  'type',
  {
    'reasoning.text': Type.Object({
      type: Type.Literal('reasoning.text'),
      text: maybe(Type.String()),
      signature: maybe(Type.String()),
      ...commonDetail,
    }),
    'reasoning.summary': Type.Object({
      type: Type.Literal('reasoning.summary'),
      summary: maybe(Type.String()),
      ...commonDetail,
    }),
    'reasoning.encrypted': Type.Object({
      type: Type.Literal('reasoning.encrypted'),
      data: maybe(Type.String()),
      ...commonDetail,
    }),
  },
  { other: unknownKind },
);
