import { type Static, Type } from 'typebox';
import type { ReasoningFormat } from '../../domain/items.ts';
import { efforts } from '../../domain/items.ts';
import { dialectReader } from '../kit/read-dialect.ts';
import { facets } from '../rules/facets.ts';

const formats = [
  'openai-responses-v1',
  'azure-openai-responses-v1',
  'bedrock-openai-responses-v1',
  'bedrock-xai-responses-v1',
  'xai-responses-v1',
  'meta-responses-v1',
] as const satisfies ReasoningFormat[];

/** Fields that a server may reject and that are not essential. */
const optionalFields = [
  'frequency_penalty',
  'include',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_options',
  'safety_identifier',
  'service_tier',
  'temperature',
  'top_logprobs',
  'top_p',
  'truncation',
] as const;

/** The differences of a server from OpenAI, whose behavior is the default. */
export const dialectSchema = Type.Object(
  {
    reasoning_format: Type.Enum([...formats], {
      default: 'openai-responses-v1',
      description: 'Format of encrypted reasoning. Only servers with the same format can read it.',
    }),
    plain_reasoning: Type.Boolean({
      default: false,
      description: 'Send earlier reasoning that has text but no encrypted content.',
    }),
    gateway: Type.Boolean({
      default: false,
      description:
        'The server is a gateway in front of several providers, such as Headgate. Send `cache_control`, `image_config`, `modalities`, `top_k` and all parts unchanged. Keep `format` and `signature` of reasoning in both directions.',
    }),
    native_items: Type.Boolean({
      default: true,
      description: 'Send `additional_tools`, `agent_message`, `compaction` and `context_compaction` items unchanged.',
    }),
    native_compaction: Type.Boolean({
      default: false,
      description:
        'The provider makes compactions: send the item `compaction_trigger`, and `POST /responses/compact`. If not, the model writes a summary, which the gateway seals.',
    }),
    native_configuration_update: Type.Boolean({
      default: false,
      description: 'Send `configuration_update` items unchanged. If not, the last one sets the effort of the request.',
    }),
    native_search: Type.Boolean({
      default: true,
      description: 'Send the tool `web_search`, which runs at the provider, and its items.',
    }),
    search_sources: Type.Boolean({
      default: false,
      description:
        'The server lists the sources of a search on request. Clients of `/messages`, which show them as results, then get them.',
    }),
    native_mcp: Type.Boolean({
      default: true,
      description: 'Send the tool `mcp`, which runs at the provider. If not, the gateway calls MCP servers.',
    }),
    native_images: Type.Boolean({
      default: true,
      description: 'Send the tool `image_generation`, which runs at the provider. If not, the gateway runs it.',
    }),
    native_patches: Type.Boolean({
      default: true,
      description:
        'Send the tool `apply_patch` and its items. If not, the model sees a function, and the gateway checks the patches.',
    }),
    native_shell: Type.Boolean({
      default: true,
      description:
        'Send the tools `shell` and `local_shell`, and their items. If not, the gateway runs the commands in a container.',
    }),
    hosted_shell: Type.Boolean({
      default: false,
      description:
        'The models of the provider have the tool `shell` with containers of the provider. `router:shell` then uses them.',
    }),
    native_code_interpreter: Type.Boolean({
      default: true,
      description:
        'Send the tool `code_interpreter`, which runs at the provider. If not, the gateway runs programs in a container.',
    }),
    cache_control: Type.Boolean({
      default: true,
      description: 'Send cache breakpoints of parts, as `prompt_cache_breakpoint`.',
    }),
    efforts: Type.Array(Type.Enum([...efforts]), {
      default: [...efforts],
      minItems: 1,
      description: 'Supported efforts. Others become the nearest of these.',
    }),
    omit: Type.Array(Type.Enum([...optionalFields]), {
      // OpenAI rejects both with a 400.
      default: ['frequency_penalty', 'presence_penalty'],
      description: 'Fields that the server rejects. They are dropped and reported.',
    }),
    account_identity: Type.Boolean({
      default: false,
      description: 'Send a hash of the workspace as `safety_identifier` if the request names no end user.',
    }),
    session_cache_key: Type.Boolean({
      default: false,
      description: 'Send a hash of the session as `prompt_cache_key` if the request has none.',
    }),
    ...facets,
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} that names the invalid setting, for the operator */
export const readDialect = dialectReader('openai-responses', dialectSchema);
