import { type MessagesDescription, strictMessages } from '../messages.ts';
import type { StrictRules } from '../rules.ts';

/**
 * Sources: farion1231/cc-switch#1181, brainlid/langchain#619 (ids), langchain-ai/langchain#39271 (root),
 * beautyfree/appstore-connect-mcp#2 (properties), Dokploy/mcp#74 (draft), home-assistant/core#175637 (blank),
 * anomalyco/opencode#1295 (space), anomalyco/opencode#3230 (results), langgenius/dify#6179 (no message),
 * BerriAI/litellm#3286 (stops), vybestack/llxprt-code#2130 (images), cnighswonger/claude-code-cache-fix#44 (marks),
 * BerriAI/litellm#35811 and #21045 (format), BerriAI/litellm#5063 (input)
 */
const claudeRules: StrictRules = {
  halfCharacters: 'The request body is not valid JSON: no low surrogate in string: line 1 column 100 (char 99)',
  fields: {
    known: [
      ...['model', 'system', 'messages', 'tools', 'tool_choice', 'thinking', 'output_config', 'max_tokens', 'stream'],
      ...['stop_sequences', 'temperature', 'top_p', 'top_k', 'metadata', 'service_tier', 'cache_control', 'container'],
      ...['mcp_servers', 'context_management', 'speed', 'inference_geo', 'fallbacks', 'compaction'],
    ],
    says: '{name}: Extra inputs are not permitted',
  },
  numbers: { temperature: { min: 0, max: 1, says: 'temperature: range: 0..1' } },
  output: {
    needed: true,
    max: 64_000,
    says: 'max_tokens: {value} > 64000, which is the maximum allowed number of output tokens',
  },
  whileThinking: {
    fields: { temperature: 1, top_k: undefined },
    says: '`{name}` may only be set to 1 when thinking is enabled. Please consult our documentation.',
  },
  stops: { says: '', blank: 'stop_sequences: each stop sequence must contain non-whitespace' },
  ids: {
    pattern: /^[a-zA-Z0-9_-]+$/,
    says: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    repeated: 'messages.1.content.1: `tool_use` ids must be unique',
  },
  tools: {
    name: {
      pattern: /^[a-zA-Z0-9_-]{1,64}$/,
      says: "tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
    },
    noParameters: 'tools.{index}.custom.input_schema: Field required',
    schemas: {
      rootObject: "tools.{index}.custom.input_schema.type: Input should be 'object'",
      rootUnion:
        'tools.{index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
      propertyNames: {
        pattern: /^[a-zA-Z0-9_.-]{1,64}$/,
        says: "tools.{index}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
      },
      oldDraft:
        'tools.{index}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at https://docs.claude.com/en/docs/tool-use.',
    },
  },
  choice: {
    alone: 'tool_choice: tool_choice may only be specified while providing tools',
    whileThinking: { only: ['auto', 'none'], says: 'Thinking may not be enabled when tool_choice forces tool use.' },
    unknown: "Tool '{value}' not found in provided tools",
  },
  format: {
    schemas: {
      open: "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
      keywords: {
        names: [
          'minimum',
          'maximum',
          'exclusiveMinimum',
          'exclusiveMaximum',
          'multipleOf',
          'minLength',
          'maxLength',
          'maxItems',
        ],
        says: "output_config.format.schema: For 'number' type, properties {value} are not supported",
      },
    },
  },
  turns: {
    none: 'messages: at least one message is required',
    blank: 'messages: text content blocks must contain non-whitespace text',
    empty: 'messages.{index}: all messages must have non-empty content except for the optional final assistant message',
    trailingSpace: 'messages: final assistant content cannot end with trailing whitespace',
    missingResult:
      'messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    orphan:
      'messages.{index}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {value}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    badArguments: 'messages.{index}.content.0.tool_use.input: Input should be a valid dictionary',
  },
  parts: {
    only: {
      kinds: ['text', 'image', 'document', 'search_result', 'tool_reference', 'container_upload'],
      says: "messages.{index}.content.0: Input tag '{value}' found using 'type' does not match any of the expected tags",
    },
    imageTypes: {
      only: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
      says: "messages.{index}.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    },
    imageBytes:
      'messages.{index}.content.0.image.source.base64: The image was specified using the {value} media type, but the image appears to be a {found} image',
  },
  marks: {
    max: 4,
    tooMany: 'A maximum of 4 blocks with cache_control may be provided. Found {value}.',
    order:
      "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    empty: 'messages.0.content.0: cache_control cannot be set for empty text blocks',
    scope: 'system.0.cache_control.ephemeral.scope: Extra inputs are not permitted',
  },
};

/** Source: github.com/anthropics/skills, skills/claude-api/shared/platform-availability.md */
const basicTools: StrictRules['tools'] = {
  ...claudeRules.tools!,
  unknownHosted: {
    pattern: /^web_(?:search|fetch)_2026/,
    says: 'This model does not support tool types: {value}. Did you mean one of web_search_20250305?',
  },
};

const anthropic: MessagesDescription = {
  id: 'anthropic',
  model: 'claude-sonnet-4-5-20250929',
  rules: { ...claudeRules, tools: basicTools },
};

/** Sources: RooCodeInc/Roo-Code#12162, earendil-works/pi#3297, langchain-ai/deepagents#1585 */
const anthropicNew: MessagesDescription = {
  id: 'anthropic-opus',
  provider: 'anthropic',
  model: 'claude-opus-4-7',
  rules: {
    ...claudeRules,
    output: {
      needed: true,
      max: 128_000,
      says: 'max_tokens: {value} > 128000, which is the maximum allowed number of output tokens',
    },
    fields: {
      ...claudeRules.fields!,
      known: claudeRules.fields!.known!.filter((name) => !['temperature', 'top_p', 'top_k'].includes(name)),
    },
    turns: {
      ...claudeRules.turns!,
      last: {
        only: ['user', 'system'],
        says: 'This model does not support assistant message prefill. The conversation must end with a user message.',
      },
    },
  },
};

/** Sources: anomalyco/opencode#31738, platform.claude.com/docs/en/models/fable-5/migration-guide */
const anthropicAlways: MessagesDescription = {
  ...anthropicNew,
  id: 'anthropic-fable',
  model: 'claude-fable-5',
  rules: {
    ...anthropicNew.rules,
    thinkingTypes: { only: ['adaptive'], says: '"thinking.type.{value}" is not supported for this model.' },
  },
};

/** Sources: platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5 */
const anthropicOpus: MessagesDescription = {
  ...anthropicAlways,
  id: 'anthropic-opus-5-5',
  model: 'claude-opus-5-5',
  rules: {
    ...anthropicAlways.rules,
    choice: {
      ...claudeRules.choice!,
      only: ['auto', 'none'],
      says: 'tool_choice: type "tool" and "any" are not supported for this model.',
    },
  },
};

/** Sources: platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5 */
const anthropicSonnet: MessagesDescription = {
  ...anthropicOpus,
  id: 'anthropic-sonnet-5-5',
  model: 'claude-sonnet-5-5',
  rules: {
    ...anthropicOpus.rules,
    thinkingTypes: {
      only: ['adaptive', 'between_tools'],
      says: '"thinking.type.{value}" is not supported for this model.',
    },
    effortWhenOff: {
      only: ['low', 'medium', 'high'],
      says: 'output_config.effort: "{value}" is not supported when thinking is off.',
    },
  },
};

/** Sources: github.com/anthropics/skills, skills/claude-api/SKILL.md (instructions within the conversation) */
const anthropicFive: MessagesDescription = {
  ...anthropicNew,
  id: 'anthropic-sonnet-5',
  model: 'claude-sonnet-5',
  rules: {
    ...anthropicNew.rules,
    turns: {
      ...anthropicNew.rules.turns!,
      systemFirst: "messages.1.role: Input should be 'user' or 'assistant'",
    },
  },
};

/**
 * Sources: NousResearch/hermes-agent#61318 and aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15
 * (contents), Portkey-AI/gateway#748 (turns), langgenius/dify#17545 (tools), UKGovernmentBEIS/inspect_ai#3851 (marks)
 */
const bedrock: MessagesDescription = {
  id: 'bedrock',
  model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
  rules: {
    ...claudeRules,
    fields: {
      ...claudeRules.fields!,
      known: claudeRules.fields!.known!.filter(
        (name) =>
          !['cache_control', 'service_tier', 'container', 'mcp_servers', 'speed', 'inference_geo'].includes(name),
      ),
    },
    tools: {
      ...claudeRules.tools!,
      missing: 'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
    },
    turns: {
      ...claudeRules.turns!,
      alternate:
        'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.',
    },
  },
};

/** Source: github.com/anthropics/skills, skills/claude-api/shared/platform-availability.md */
const vertex: MessagesDescription = {
  id: 'vertex-anthropic',
  model: 'claude-sonnet-4-5@20250929',
  rules: {
    ...claudeRules,
    tools: basicTools,
    fields: {
      ...claudeRules.fields!,
      known: claudeRules.fields!.known!.filter(
        (name) => !['service_tier', 'container', 'mcp_servers', 'speed', 'inference_geo'].includes(name),
      ),
    },
  },
};

/** Servers of Claude. */
export const claudeProviders = [
  ...[anthropic, anthropicNew, anthropicAlways, anthropicOpus, anthropicSonnet, anthropicFive],
  ...[bedrock, vertex],
].map(strictMessages);
