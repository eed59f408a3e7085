import type Anthropic from '@anthropic-ai/sdk';
import type * as Gemini from '@google/genai';
import type OpenAI from 'openai';

/*
 * The answers of the APIs, as the newest official clients type them. `public-schemas.ts` compiles a schema of each. The clients
 * have types of the same name, so each has its own list.
 */

export interface OpenAIAnswers {
  response: OpenAI.Responses.Response;
  responseEvent: OpenAI.Responses.ResponseStreamEvent;
  compactedResponse: OpenAI.Responses.CompactedResponse;
  inputTokens: OpenAI.Responses.InputTokens.InputTokenCountResponse;
  chatCompletion: OpenAI.Chat.ChatCompletion;
  chatCompletionChunk: OpenAI.Chat.ChatCompletionChunk;
  completion: OpenAI.Completion;
  embeddings: OpenAI.CreateEmbeddingResponse;
  images: OpenAI.ImagesResponse;
  imageEvent: OpenAI.ImageGenStreamEvent | OpenAI.ImageEditStreamEvent;
  openaiModel: OpenAI.Model;
  openaiModels: { object: string; data: OpenAI.Model[] };
  openaiError: { error: OpenAI.ErrorObject };
}

export interface AnthropicAnswers {
  message: Anthropic.Message;
  messageEvent: Anthropic.RawMessageStreamEvent;
  messageTokens: Anthropic.MessageTokensCount;
  messageModels: { data: Anthropic.ModelInfo[]; has_more: boolean; first_id: string | null; last_id: string | null };
  messageError: Anthropic.ErrorResponse;
}

export interface GeminiAnswers {
  content: Gemini.GenerateContentResponse;
  contentTokens: Gemini.CountTokensResponse;
  contentModel: Gemini.Model;
  /** The client has no type for it. */
  contentError: { error: { code: number; message: string; status: string } };
}
