import type { ResourceOption } from '../../src/cli/resources/definition.ts';

/** The differences of a command from its route. */
export interface Spelling {
  /** Absent: the path and the method say it. */
  name?: string;
  summary?: string;
  /** Options of fields. */
  flags?: Record<string, string>;
  /** Fields that it has no option for. */
  hides?: readonly string[];
  /** Required fields that the command can complete. */
  optional?: readonly string[];
  sends?: Record<string, unknown>;
  isPart?: true;
  isDefault?: true;
  /** Whether it calls a route of every key as a management key. Absent: as a key of a workspace. */
  seesAll?: true;
  /** The columns of its table: fields, or a title and a field. `*` are all settings. */
  columns?: readonly string[];
  /** Options that set several fields. `shorthands.ts` has their meaning. */
  shorthands?: readonly Shorthand[];
}

export type Shorthand = Pick<ResourceOption, 'flags' | 'help'> & { kind: 'text' | 'list' | 'switch' };

/** Routes whose commands are written by hand, and routes of other programs. */
export const otherRoutes: readonly string[] = [
  ...['listKeys', 'createKey', 'rotateKey', 'findCurrentKey', 'showCredits', 'callWebhook'],
];

/** Descriptions of groups. Absent: that of the tag. */
export const groupHelp: Record<string, string> = {
  containers: 'containers of a workspace, and their files',
  files: 'files of a workspace',
  keys: 'inference keys and management keys',
};

/** Options of fields in all commands. Absent: the name of the field. */
export const flagNames: Record<string, string> = {
  acknowledge_workspace_loss: 'acknowledge-loss',
  allowed_models: 'allow-model',
  allowed_providers: 'allow-provider',
  confirm_default_workspace_deletion: 'confirm-default',
  designated_version: 'use-version',
  disabled_server_tools: 'disable-server-tools',
  hosts: 'host',
  ignored_models: 'ignore-model',
  ignored_providers: 'ignore-provider',
  include_byok_in_budgets: 'include-byok',
  include_byok_in_limit: 'include-byok',
  io_logging_sampling_rate: 'io-sampling',
  is_observability_io_logging_enabled: 'io-logging',
  limit_usd: 'limit',
  locations: 'in',
  reset_interval: 'limit-reset',
};

/** Explanations of fields beside their limits. */
export const fieldHelp: Record<string, string> = {
  acknowledge_workspace_loss: 'delete it even if its files cannot be saved',
  allowed_models: 'the only slugs or patterns to use',
  allowed_providers: 'the only providers to use',
  concurrent_requests: 'requests in flight at a time',
  config: 'settings of requests, as in the API',
  confirm_default_workspace_deletion: 'delete the workspace even if it is the default one',
  content_filter_builtins: 'built-in content filters as in the API',
  content_filters: 'content filters as in the API',
  cron: 'minute, hour, day, month and day of the week',
  default_image_model: 'model of image requests that name no model',
  default_plugins: 'plugins of all requests, as in the API',
  default_provider_sort: 'order of providers for requests that set none',
  default_text_model: 'model of requests that name no model',
  designated_version: 'the version that requests use',
  disabled_server_tools: 'tools that requests must not use, such as router:web_search',
  hosts: 'exact names of the hosts that may receive the secret',
  ignored_models: 'slugs or patterns to exclude',
  ignored_providers: 'providers to exclude',
  include_byok_in_budgets: 'BYOK costs count toward the limit',
  include_byok_in_limit: 'BYOK costs count toward the limit',
  input: 'message to the intern',
  instructions: 'standing instructions',
  io_logging_sampling_rate: 'share of the sessions that is kept',
  is_observability_io_logging_enabled: 'keep inputs and outputs',
  ledger_retention_days: 'days that entries stay in the ledger (0: for ever)',
  limit: 'spending limit in USD',
  limit_usd: 'spending limit in USD',
  locations: 'parts of a request that may have it: header, path, query, body, header:NAME',
  reset_interval: 'when the limit resets (UTC)',
  limit_reset: 'when the limit resets (UTC)',
  model: 'slug of the model that it uses',
  name: 'display name',
  order: 'the oldest (asc, the default) or the newest first',
  paused: 'due times are skipped',
  provision: 'start it, and show the progress',
  purpose: 'purpose, such as user_data',
  requests_per_minute: 'requests within 60 seconds',
  member_user_ids: 'members; applies to all their keys',
  tokens_per_minute: 'input and output tokens within 60 seconds',
  slug: 'name in paths and requests',
  system_prompt: 'instructions of requests',
  text: 'the text to test',
  time_zone: 'such as Europe/Berlin (UTC)',
  user_id: 'id of a member',
  user_ids: 'ids of members',
  vault_id: 'id of its vault',
};

/** The operations that list what fields name. */
export const fieldLists: Record<string, string> = {
  api_key_hash: 'listKeys',
  guardrail_id: 'listGuardrails',
  key_hashes: 'listKeys',
  workspace_id: 'listWorkspaces',
};

const unused = ['is_observability_broadcast_enabled', 'is_data_discount_logging_enabled', 'io_logging_api_key_ids'];
const workspace: Spelling = { hides: unused };
const guardrail: Spelling = {
  hides: [
    ...['anthropic', 'openai', 'google', 'xai', 'other'].map((maker) => `enforce_zdr_${maker}`),
    ...[
      'allowed_data_regions',
      'enforce_zdr',
      'enable_paid_model_training',
      'enable_free_model_training',
      'enable_free_model_publication',
    ],
  ],
  shorthands: [
    {
      flags: '--zdr <maker...>',
      kind: 'list',
      help: 'only endpoints that retain no data: anthropic, openai, google, xai, other, all, or none',
    },
    { flags: '--forbid <what...>', kind: 'list', help: 'paid-training, free-training, free-publication, or none' },
    {
      flags: '--flag <filter...>',
      kind: 'list',
      help: 'built-in content filters that only report, such as email or secrets',
    },
    { flags: '--redact <filter...>', kind: 'list', help: 'built-in content filters that replace their matches' },
    { flags: '--block <filter...>', kind: 'list', help: 'built-in content filters that reject the request' },
    {
      flags: '--scan-scope <scope>',
      kind: 'text',
      help: 'with regex-prompt-injection: user_only or all_messages',
    },
    { flags: '--apply-to <side...>', kind: 'list', help: 'with --flag, --redact and --block: input, output' },
    { flags: '--filters <file>', kind: 'text', help: 'file with content filters as in the API, or none' },
  ],
};
const secret: Spelling = { flags: { value: '<secret>' } };
const holders = { key_hashes: '--key <key...>', member_user_ids: '--member <id...>' };
const assign: Spelling = { name: 'guardrails assign', isPart: true, flags: holders };
const unassign: Spelling = { name: 'guardrails unassign', isPart: true, flags: holders };
const memberColumns = ['MEMBER=user_id', 'role', 'SINCE=created_at'];
const keyColumns = ['KEY=key_name', 'LABEL=key_label', 'GUARDRAIL=guardrail_id', 'SINCE=created_at'];
const memberHolderColumns = ['MEMBER=user_id', 'GUARDRAIL=guardrail_id', 'SINCE=created_at'];
const changeMembers: Spelling = {
  name: 'workspaces members change',
  summary: 'Add and remove members, and list the members',
  isPart: true,
  isDefault: true,
};

/** The differences of commands from their routes, by operation id. A list is several commands for one route. */
export const spellings: Record<string, Spelling | readonly Spelling[]> = {
  addMembers: [
    { flags: { user_ids: '<ids...>' }, columns: memberColumns },
    { ...changeMembers, flags: { user_ids: '--add <id...>' } },
  ],
  assignKeys: { ...assign, summary: 'Assign a guardrail to keys and members, in place of the one they have' },
  assignMembers: assign,
  copyInternSecrets: { name: 'vault copy', flags: { names: '<names...>' } },
  createGuardrail: guardrail,
  createIntern: { flags: { name: '<name>' }, hides: ['workspace_id'] },
  createSchedule: {
    hides: ['kind'],
    shorthands: [
      { flags: '--webhook', kind: 'switch', help: 'run the intern when the path of the schedule is called' },
    ],
  },
  createWorkspace: { ...workspace, optional: ['slug'] }, // it is derived from the name
  deleteFile: [{}, { name: 'files rm' }],
  deleteInternSecret: { name: 'vault delete' },
  deleteVaultSecret: { name: 'vault delete' },
  listActivity: {
    columns: [
      ...['date', 'model', 'PROVIDER=provider_name', 'requests', 'INPUT=prompt_tokens', 'OUTPUT=completion_tokens'],
      ...['COST=usage', 'WORKSPACE=workspace_id', 'KEY=api_key_hash', 'MEMBER=user_id', 'external_user'],
    ],
  },
  showAnalytics: {
    seesAll: true,
    columns: [
      ...[
        'start',
        'model',
        'PROVIDER=provider_name',
        'WORKSPACE=workspace_id',
        'KEY=api_key_hash',
        'MEMBER=user_id',
        'tag',
      ],
      ...['requests', 'errors', 'INPUT=prompt_tokens', 'OUTPUT=completion_tokens', 'COST=usage'],
    ],
  },
  listAudit: { columns: ['TIME=at', 'action', 'ID=object_id', 'WORKSPACE=workspace_id', 'KEY=actor_key_hash'] },
  listBudgets: {
    columns: ['INTERVAL=reset_interval', 'LIMIT=limit_usd', 'SPENT=usage_usd', 'LEFT=limit_remaining_usd', 'resets_at'],
  },
  listContainerFiles: { isDefault: true, columns: ['path', 'bytes', 'SAVED=created_at', 'id'] },
  listEffectiveSecrets: { name: 'vault effective', columns: ['name', 'scope', 'hosts'] },
  listFiles: {
    hides: ['provider'],
    columns: ['id', 'NAME=filename', 'TYPE=mime_type', 'BYTES=size_bytes', 'CREATED=created_at'],
  },
  listGuardrailBudgets: {
    columns: [
      ...['KEY=key_name', 'LABEL=key_label', 'MEMBER=user_id', 'LIMIT=limit_usd', 'SPENT=usage_usd'],
      ...['LEFT=limit_remaining_usd', 'RESETS=resets_at'],
    ],
  },
  listGuardrailKeys: { columns: keyColumns },
  listGuardrailMembers: { columns: memberHolderColumns },
  listGuardrails: { columns: ['name', 'WORKSPACE=workspace_id', 'id', 'RULES=*'] },
  listInterns: { columns: ['name', 'id', 'status', 'model', 'CREATED=createdAt'] },
  listInternSecrets: { name: 'vault list' },
  listKeyAssignments: { summary: 'List the keys that have a guardrail, or this one', columns: keyColumns },
  listMemberAssignments: {
    summary: 'List the members that have a guardrail, or this one',
    columns: memberHolderColumns,
  },
  listMembers: {
    columns: [
      'MEMBER=id',
      'REQUESTS/MIN=requests_per_minute',
      'TOKENS/MIN=tokens_per_minute',
      'CONCURRENT=concurrent_requests',
      'CREATED=created_at',
    ],
  },
  listPresetVersions: { columns: ['version', 'CREATED=created_at', 'CREATOR=creator_id', 'id'] },
  listPresets: { columns: ['slug', 'name', 'status', 'UPDATED=updated_at'] },
  listSchedules: {
    columns: ['id', 'kind', 'cron', 'time_zone', 'paused', 'NEXT=next_due_at', 'LAST RUN=last_run.status'],
  },
  listVaultSecrets: { name: 'vault list', columns: ['name', 'hosts', 'IN=locations', 'fingerprint', 'created_at'] },
  listWorkspaceMembers: [{ columns: memberColumns }, { ...changeMembers, columns: memberColumns }],
  listWorkspaces: { columns: ['name', 'slug', 'CREATED=created_at', 'id'] },
  provisionIntern: {
    shorthands: [{ flags: '--no-wait', kind: 'switch', help: 'return immediately, without the progress' }],
  },
  putInternSecret: { name: 'vault set', ...secret },
  putVaultSecret: { name: 'vault set', ...secret },
  removeMembers: [{ flags: { user_ids: '<ids...>' } }, { ...changeMembers, flags: { user_ids: '--remove <id...>' } }],
  savePresetFromChat: { name: 'presets save-chat' },
  savePresetFromMessage: { name: 'presets save-message' },
  savePresetFromRequest: { name: 'presets save' },
  testGuardrail: {
    flags: { guardrail_id: '--guardrail <guardrail>' },
    hides: ['content_filters', 'content_filter_builtins'],
    shorthands: [{ flags: '--file <file>', kind: 'text', help: 'file with content filters as in the API' }],
  },
  unassignKeys: { ...unassign, summary: 'Take a guardrail from keys and members' },
  unassignMembers: unassign,
  updateGuardrail: guardrail,
  updateKey: [
    {
      hides: ['disabled'],
      shorthands: [
        { flags: '--enable', kind: 'switch', help: 'the key works again' },
        { flags: '--disable', kind: 'switch', help: 'the key is rejected from now on' },
      ],
    },
    { name: 'keys disable', summary: 'Disable a key', sends: { disabled: true } },
  ],
  updateSchedule: [
    {},
    { name: 'interns schedules pause', summary: 'Pause a schedule', sends: { paused: true } },
    { name: 'interns schedules resume', summary: 'Resume a schedule', sends: { paused: false } },
  ],
  updateWorkspace: workspace,
  uploadFile: { name: 'files upload', flags: { file: '<file>' } },
};
