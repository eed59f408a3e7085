import type { Message, MessageCreateParamsBase, Usage } from '@anthropic-ai/sdk/resources/messages/messages';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsBase,
  ChatCompletionMessage,
} from 'openai/resources/chat/completions/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import type { CreateEmbeddingResponse, EmbeddingCreateParams } from 'openai/resources/embeddings';
import type { Response, ResponseCreateParamsBase, ResponseUsage } from 'openai/resources/responses/responses';
import { expect, it } from 'vitest';
import type { ChatBody } from './requests/chat/schema.ts';
import type { EmbeddingBody } from './requests/embeddings/schema.ts';
import type { MessagesBody } from './requests/messages/schema.ts';
import type { RequestBody } from './requests/responses/schema.ts';
import type { ResponseObject } from './domain/response.ts';
import type { WireUsage } from './domain/usage.ts';
import type {
  GatewayChatFields,
  GatewayEmbeddingFields,
  GatewayMessageFields,
  GatewayRequestFields,
  GatewayResponseFields,
  GatewayUsageFields,
} from './types.ts';
import type { GatewayMessagesFields } from './types/anthropic.ts';

/** A deprecated field, which clients should not send. */
type Deprecated = 'route';

/** Fields that only the beta types of the client have. */
type BetaField = 'context_management' | 'fallbacks' | 'mcp_servers' | 'output_format' | 'thread';

/** A field may be null where the gateway ignores it. */
type Stated<Fields> = { [Name in keyof Fields]?: NonNullable<Fields[Name]> };

const agreements = {
  request: (body: Pick<RequestBody, keyof GatewayRequestFields>): GatewayRequestFields => body,
  requestField: (field: keyof GatewayRequestFields): keyof RequestBody => field,
  everyRequestField: (field: Exclude<keyof RequestBody, Deprecated>): keyof ResponseCreateParamsBase => field,
  response: (object: ResponseObject): GatewayResponseFields => object,
  everyResponseField: (field: 'router_metadata' | 'error_type'): keyof Response => field,
  usage: (usage: WireUsage): GatewayUsageFields => usage,
  everyUsageField: (field: keyof WireUsage): keyof ResponseUsage => field,
  chat: (body: Stated<Pick<ChatBody, keyof GatewayChatFields>>): Stated<GatewayChatFields> => body,
  everyChatField: (field: Exclude<keyof ChatBody, Deprecated>): keyof ChatCompletionCreateParamsBase => field,
  chatMessage: (
    field: keyof GatewayMessageFields,
  ): keyof ChatCompletionMessage & keyof ChatCompletionChunk.Choice.Delta => field,
  chatResult: (field: 'provider' | 'router_metadata'): keyof ChatCompletion & keyof ChatCompletionChunk => field,
  chatUsage: (field: keyof GatewayUsageFields): keyof CompletionUsage => field,
  embeddings: (body: Stated<Pick<EmbeddingBody, keyof GatewayEmbeddingFields>>): Stated<GatewayEmbeddingFields> => body,
  everyEmbeddingField: (field: keyof EmbeddingBody): keyof EmbeddingCreateParams => field,
  embeddingResult: (field: 'provider' | 'router_metadata'): keyof CreateEmbeddingResponse => field,
  embeddingUsage: (field: 'cost' | 'is_byok'): keyof CreateEmbeddingResponse.Usage => field,
  messages: (body: Stated<Pick<MessagesBody, keyof GatewayMessagesFields>>): Stated<GatewayMessagesFields> => body,
  everyMessagesField: (field: Exclude<keyof MessagesBody, Deprecated | BetaField>): keyof MessageCreateParamsBase =>
    field,
  messageResult: (field: 'router_metadata'): keyof Message => field,
  messageUsage: (field: 'cost' | 'cost_details' | 'is_byok'): keyof Usage => field,
};

it('the published types agree with the schema and the response: the compiler checks this file', () => {
  expect(Object.keys(agreements)).not.toHaveLength(0);
});
