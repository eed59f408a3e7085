import { Type } from 'typebox';
import { partTypes } from '../../../domain/items.ts';
import { byKind } from '../../../schema/by-kind.ts';
import { cacheControl, maybe, nullable, oneOf, unknownKind } from '../../../schema/shapes.ts';

const isText = (value: unknown) => typeof value === 'string';

/** For the OpenAPI document: at least one of the fields is a text. */
const hasOne = (...fields: string[]) => ({
  not: { allOf: fields.map((field) => ({ not: { required: [field], properties: { [field]: { type: 'string' } } } })) },
});

/** @see docs/reference/items.md#content-parts */
export const inputText = Type.Object({
  type: Type.Literal('input_text'),
  text: Type.String(),
  prompt_cache_breakpoint: maybe(Type.Object({ mode: Type.Literal('explicit') })),
  cache_control: Type.Optional(cacheControl),
});

/** `detail` may be missing (= `auto`): docs/reference/items.md#messages. */
export const inputImage = Type.Refine(
  Type.Object(
    {
      type: Type.Literal('input_image'),
      detail: Type.Optional(oneOf('auto', 'high', 'low', 'original')),
      image_url: maybe(Type.String()),
      file_id: maybe(Type.String()),
      cache_control: Type.Optional(cacheControl),
    },
    { documented: hasOne('image_url', 'file_id') },
  ),
  (part) => isText(part.image_url) || isText(part.file_id),
  () => 'needs a source: one of `image_url`, `file_id`',
);

/** @see docs/reference/items.md#content-parts */
export const inputFile = Type.Refine(
  Type.Object(
    {
      type: Type.Literal('input_file'),
      file_data: Type.Optional(Type.String()),
      file_url: Type.Optional(Type.String()),
      file_id: maybe(Type.String()),
      filename: Type.Optional(Type.String()),
      cache_control: Type.Optional(cacheControl),
    },
    { documented: hasOne('file_data', 'file_url', 'file_id') },
  ),
  (part) => isText(part.file_data) || isText(part.file_url) || isText(part.file_id),
  () => 'needs a source: one of `file_data`, `file_url`, `file_id`',
);

const inputAudio = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(), format: oneOf('mp3', 'wav') }),
});

const inputVideo = Type.Object({
  type: Type.Literal('input_video'),
  video_url: Type.String(),
  processing: Type.Optional(oneOf('agentic', 'static')),
});

const encryptedContent = Type.Object({
  type: Type.Literal('encrypted_content'),
  encrypted_content: Type.String(),
});

/** @see docs/reference/items.md#annotations */
export const containerFileCitation = Type.Object({
  type: Type.Literal('container_file_citation'),
  container_id: Type.String(),
  file_id: Type.String(),
  filename: Type.String(),
  start_index: Type.Integer(),
  end_index: Type.Integer(),
});

/**
 * Callers send annotations back as a provider wrote them. `title` may be missing, because a guide omits it. Unlisted
 * kinds pass, such as the file annotation of docs/reference/plugins.md.
 */
const annotation = byKind(
  'an annotation',
  'type',
  {
    url_citation: Type.Object({
      type: Type.Literal('url_citation'),
      url: Type.String(),
      title: Type.Optional(Type.String()),
      start_index: Type.Integer(),
      end_index: Type.Integer(),
      content: Type.Optional(Type.String()),
    }),
    file_citation: Type.Object({
      type: Type.Literal('file_citation'),
      file_id: Type.String(),
      filename: Type.String(),
      index: Type.Integer(),
    }),
    file_path: Type.Object({ type: Type.Literal('file_path'), file_id: Type.String(), index: Type.Integer() }),
    container_file_citation: containerFileCitation,
  },
  { other: unknownKind },
);

const tokenLogprob = { token: Type.String(), logprob: Type.Number(), bytes: nullable(Type.Array(Type.Integer())) };

const outputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Optional(Type.Array(annotation)),
  logprobs: Type.Optional(
    Type.Array(Type.Object({ ...tokenLogprob, top_logprobs: Type.Array(Type.Object(tokenLogprob)) })),
  ),
});

const refusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });

const inputParts = {
  input_text: inputText,
  input_image: inputImage,
  input_file: inputFile,
  input_audio: inputAudio,
  input_video: inputVideo,
};

/** Names that are not new kinds: parts that belong elsewhere, and the names of parts in chat completions. */
const reserved: ReadonlyMap<string, string | undefined> = new Map([
  ...[...partTypes, 'reasoning_text', 'summary_text'].map((type) => [type, undefined] as const),
  ...([
    ['text', 'input_text'],
    ['image_url', 'input_image'],
    ['file', 'input_file'],
  ] as const),
]);

/**
 * Unlisted kinds pass, because a provider that has sent such a part accepts it back. Wires without such parts reject
 * it. choice 272
 */
const unknownKinds = { other: unknownKind, reserved, kindComponent: 'Part' };

/** A part of a user, system or developer message. */
export const inputPart = byKind('an input part', 'type', inputParts, unknownKinds);

/** A part of an assistant message: an output part or an input part (docs/reference/items.md#messages). */
export const assistantPart = byKind(
  'a part of an assistant message',
  'type',
  {
    output_text: outputText,
    refusal,
    ...inputParts,
  },
  { component: 'AssistantPart', ...unknownKinds },
);

/** A part of the output of a client's tool. The output may also be a plain string. */
export const toolOutputPart = byKind(
  'a tool output part',
  'type',
  {
    input_text: inputText,
    input_image: inputImage,
    input_file: inputFile,
  },
  unknownKinds,
);

/** A part of a message between agents. */
export const agentPart = byKind(
  'an agent message part',
  'type',
  {
    input_text: inputText,
    input_image: inputImage,
    encrypted_content: encryptedContent,
  },
  unknownKinds,
);

/** @see docs/reference/items.md#annotations */
export const reasoningText = Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() });

/** @see docs/reference/items.md#annotations */
export const summaryText = Type.Object({ type: Type.Literal('summary_text'), text: Type.String() });
