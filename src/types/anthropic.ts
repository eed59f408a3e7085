/*
 * Types for the `@anthropic-ai/sdk` client, published as `headgate/types/anthropic`. Importing this module adds the fields
 * that only the gateway has to the client's own types. It has no run-time code.
 *
 * @see docs/guides/clients.md#typescript
 */
import type {} from '@anthropic-ai/sdk/resources/messages/messages';
import type { GatewayRoutingFields, GatewayUsageFields, RouterMetadata } from '../types.ts';

/** Fields of `POST /messages` that the client's types lack. */
export interface GatewayMessagesFields extends GatewayRoutingFields {
  max_tool_calls?: number | null;
  modalities?: ('text' | 'image')[];
  prompt_cache_key?: string | null;
  temperature?: number;
  top_k?: number;
  top_p?: number;
}

declare module '@anthropic-ai/sdk/resources/messages/messages' {
  interface MessageCreateParamsBase extends GatewayMessagesFields {}
  interface Message {
    /** Present if the request has the header `X-Router-Metadata: enabled`. */
    router_metadata?: RouterMetadata;
  }
  interface Usage extends Pick<GatewayUsageFields, 'cost' | 'cost_details' | 'is_byok'> {}
  interface MessageDeltaUsage extends Pick<GatewayUsageFields, 'cost' | 'cost_details' | 'is_byok'> {}
}
