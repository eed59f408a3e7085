import { type Static, Type } from 'typebox';
import { createLenientCheck } from '../../schema/create-lenient-check.ts';
import { anyObject, maybe, oneOf, openWord, strings } from '../../schema/shapes.ts';
import { ownFields } from '../own-fields.ts';
import { requestSchema } from '../responses/schema.ts';
import { functionName } from '../responses/schema/tools.ts';

/** Fields with the shape and the meaning of `POST /responses`. They are copied to the request of the pipeline. */
export const sharedGeminiFields = [...ownFields, 'user'] as const;

const shared = Type.Pick(requestSchema, sharedGeminiFields).properties;

const blob = Type.Object({ mimeType: Type.String(), data: Type.String(), displayName: maybe(Type.String()) });
const file = Type.Object({
  fileUri: Type.String({ minLength: 1 }),
  mimeType: maybe(Type.String()),
  displayName: maybe(Type.String()),
});

/** @see docs/reference/gemini.md#parts */
const part = Type.Object({
  text: maybe(Type.String()),
  thought: maybe(Type.Boolean()),
  thoughtSignature: maybe(Type.String()),
  inlineData: maybe(blob),
  fileData: maybe(file),
  functionCall: maybe(
    Type.Object({ id: maybe(Type.String()), name: Type.String({ minLength: 1 }), args: maybe(anyObject()) }),
  ),
  functionResponse: maybe(
    Type.Object({
      id: maybe(Type.String()),
      name: maybe(Type.String()), // that of its call, if it is missing
      response: maybe(anyObject()),
      parts: maybe(Type.Array(Type.Object({ inlineData: maybe(blob), fileData: maybe(file) }))),
    }),
  ),
  executableCode: maybe(anyObject()),
  codeExecutionResult: maybe(anyObject()),
});

/** Content of the user, the model, or (`function`) the functions of the user. */
const content = Type.Object({ role: maybe(oneOf('user', 'model', 'function')), parts: maybe(Type.Array(part)) });

const systemInstruction = Type.Object({
  role: maybe(Type.String()),
  parts: maybe(Type.Array(Type.Object({ text: maybe(Type.String()) }))),
});

const declaration = Type.Object({
  name: functionName,
  description: maybe(Type.String()),
  parameters: maybe(anyObject()),
  parametersJsonSchema: maybe(anyObject()),
});

const tool = Type.Object({
  functionDeclarations: maybe(Type.Array(declaration)),
  googleSearch: maybe(anyObject()),
  googleSearchRetrieval: maybe(anyObject()),
  urlContext: maybe(anyObject()),
  codeExecution: maybe(anyObject()),
});

const toolConfig = Type.Object({
  functionCallingConfig: maybe(
    Type.Object({
      mode: maybe(openWord('AUTO', 'ANY', 'NONE', 'VALIDATED', 'MODE_UNSPECIFIED')),
      allowedFunctionNames: maybe(strings()),
    }),
  ),
});

const generationConfig = Type.Object({
  candidateCount: maybe(Type.Literal(1, { says: 'must be 1, since a response has one candidate' })),
  frequencyPenalty: maybe(Type.Number()),
  imageConfig: maybe(anyObject()),
  logprobs: maybe(Type.Integer({ minimum: 0 })),
  maxOutputTokens: maybe(Type.Integer({ minimum: 1 })),
  presencePenalty: maybe(Type.Number()),
  responseJsonSchema: maybe(anyObject()),
  responseLogprobs: maybe(Type.Boolean()),
  responseMimeType: maybe(Type.String()),
  responseModalities: maybe(Type.Array(openWord('TEXT', 'IMAGE', 'AUDIO'))),
  responseSchema: maybe(anyObject()),
  seed: maybe(Type.Integer()),
  stopSequences: maybe(Type.Array(Type.String({ minLength: 1 }))),
  temperature: maybe(Type.Number()),
  thinkingConfig: maybe(
    Type.Object({
      includeThoughts: maybe(Type.Boolean()),
      thinkingBudget: maybe(Type.Integer({ minimum: -1 })),
      thinkingLevel: maybe(openWord('MINIMAL', 'LOW', 'MEDIUM', 'HIGH')),
    }),
  ),
  topK: maybe(Type.Integer()),
  topP: maybe(Type.Number()),
});

/**
 * The body of `models/{model}:generateContent`, in lowerCamelCase. Open: unknown fields reach only an endpoint of the
 * same format.
 *
 * @see docs/reference/gemini.md#request-body
 */
export const geminiSchema = Type.Object({
  contents: Type.Array(content, { minItems: 1 }),
  systemInstruction: maybe(Type.Union([Type.String(), systemInstruction])),
  tools: maybe(Type.Array(tool)),
  toolConfig: maybe(toolConfig),
  generationConfig: maybe(generationConfig),
  safetySettings: maybe(Type.Array(anyObject())),
  cachedContent: maybe(Type.String()),
  serviceTier: maybe(openWord('standard', 'flex', 'priority')),
  ...shared,
});

/** A body that has passed its check. */
export type GeminiBody = Static<typeof geminiSchema>;
export type GeminiConfig = Static<typeof generationConfig>;
export type GeminiPart = Static<typeof part>;
export type GeminiContentBody = Static<typeof content>;

/** The body of `models/{model}:countTokens`: contents alone, or a whole request. */
export const geminiCountSchema = Type.Object({
  contents: Type.Optional(Type.Array(content)),
  generateContentRequest: Type.Optional(geminiSchema),
});

/** Whether every field of the body has its shape. Removes nulls that stand for absent fields. */
export const isGeminiBody = createLenientCheck(geminiSchema);
