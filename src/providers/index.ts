import { aiSdk } from './ai-sdk/index.ts';
import { anthropicMessages } from './anthropic-messages/index.ts';
import { bfl } from './bfl/index.ts';
import { cohere } from './cohere/index.ts';
import { fal } from './fal/index.ts';
import { gemini } from './gemini/index.ts';
import { ollama } from './ollama/index.ts';
import { openaiChat } from './openai-chat/index.ts';
import { openaiEmbeddings, textWireEmbedding, textWireRerank } from './openai-embeddings/index.ts';
import { textWireImages, openaiImages } from './openai-images/index.ts';
import { openaiResponses } from './openai-responses/index.ts';
import type { TextWire } from './text-wire.ts';
import type { Wire } from './wire.ts';
import { recraft } from './recraft/index.ts';
import { simulator } from './simulator/index.ts';

/** The paths that most servers of text have at the same URL. */
const sameUrl = { embedding: textWireEmbedding, rerank: textWireRerank };
/** Servers with `/responses` have `/images` at the same URL. */
const openaiBoth: Wire = { ...openaiResponses, image: textWireImages, ...sameUrl };
const openaiChatBoth: Wire = { ...openaiChat, ...sameUrl };

/** Every wire of this build, by its name in the configuration. A new wire is a folder and a line here. */
export const wires: ReadonlyMap<string, Wire> = new Map(
  [
    openaiBoth,
    openaiChatBoth,
    anthropicMessages,
    gemini,
    openaiImages,
    openaiEmbeddings,
    cohere,
    ollama,
    bfl,
    recraft,
    fal,
    aiSdk,
    simulator,
  ].map((wire) => [wire.id, wire]),
);

/**
 * Names in the configuration that mean one of several wires. The provider finds out which one its server uses. The more
 * likely one comes first.
 */
export const openWires: ReadonlyMap<string, readonly [Wire, ...Wire[]]> = new Map([
  ['openai', [openaiBoth, { ...openaiChatBoth, image: textWireImages }]],
]);

type TextGenerator = Wire & { readonly text: TextWire };

/** The wires that generate text. */
export const textWires: ReadonlyMap<string, TextGenerator> = new Map(
  [...wires].filter((entry): entry is [string, TextGenerator] => entry[1].text !== undefined),
);
