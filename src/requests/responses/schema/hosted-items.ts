import { Type } from 'typebox';
import { byKind } from '../../../schema/by-kind.ts';
import {
  anyObject,
  failableStatus,
  itemStatus,
  mapOf,
  maybe,
  nullable,
  openWord,
  strings,
  unknownKind,
} from '../../../schema/shapes.ts';
import { containerFileCitation } from './parts.ts';

/**
 * The change that a patch makes to one file. Diffs are in the V4A dialect.
 *
 * @see docs/reference/items.md#patches-and-shells
 */
export const patchOperation = byKind('a patch operation', 'type', {
  create_file: Type.Object({ type: Type.Literal('create_file'), path: Type.String(), diff: Type.String() }),
  update_file: Type.Object({ type: Type.Literal('update_file'), path: Type.String(), diff: Type.String() }),
  delete_file: Type.Object({ type: Type.Literal('delete_file'), path: Type.String() }),
});

/** @see docs/reference/items.md#patches-and-shells */
export const shellAction = Type.Object({
  commands: strings(),
  timeout_ms: maybe(Type.Integer()),
  max_output_length: maybe(Type.Integer()),
});

/** The result of one shell command. */
export const commandOutput = Type.Object({
  stdout: Type.String(),
  stderr: Type.String(),
  outcome: byKind('an outcome', 'type', {
    exit: Type.Object({ type: Type.Literal('exit'), exit_code: Type.Integer() }),
    timeout: Type.Object({ type: Type.Literal('timeout') }),
  }),
});

/** The files a command touched: at most 10, most recent first. */
export const touchedFiles = Type.Optional(Type.Array(containerFileCitation, { maxItems: 10 }));

/** A page that a search used. */
export const urlSource = Type.Object({ type: Type.Literal('url'), url: Type.String() });

const searchStatus = openWord('completed', 'searching', 'in_progress', 'failed');

const shellCall = {
  type: Type.Literal('shell_call'),
  call_id: Type.String(),
  arguments: maybe(Type.String()),
  environment: Type.Optional(Type.Unknown()),
};

const patches = {
  apply_patch_call: Type.Object({
    type: Type.Literal('apply_patch_call'),
    id: maybe(Type.String()),
    call_id: Type.String(),
    operation: patchOperation,
    status: openWord('in_progress', 'completed'),
  }),
  apply_patch_call_output: Type.Object({
    type: Type.Literal('apply_patch_call_output'),
    id: maybe(Type.String()),
    call_id: Type.String(),
    status: openWord('completed', 'failed'),
    output: maybe(Type.String()),
  }),
};

const shells = {
  local_shell_call: Type.Object({
    type: Type.Literal('local_shell_call'),
    id: Type.String(),
    call_id: Type.String(),
    status: itemStatus,
    action: Type.Object({
      type: Type.Literal('exec'),
      command: strings(),
      env: mapOf(Type.String()),
      timeout_ms: maybe(Type.Integer()),
      user: maybe(Type.String()),
      working_directory: maybe(Type.String()),
    }),
  }),
  local_shell_call_output: Type.Object({
    type: Type.Literal('local_shell_call_output'),
    id: Type.String(),
    output: Type.String(),
    status: maybe(itemStatus),
  }),
  // An input call needs `action`; a replayed output call needs `id` and `status`.
  shell_call: Type.Union([
    Type.Object({ ...shellCall, action: shellAction, id: maybe(Type.String()), status: maybe(itemStatus) }),
    Type.Object({ ...shellCall, action: Type.Optional(shellAction), id: Type.String(), status: itemStatus }),
  ]),
  shell_call_output: Type.Object({
    type: Type.Literal('shell_call_output'),
    id: maybe(Type.String()),
    call_id: Type.String(),
    output: Type.Array(commandOutput),
    container_id: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
    files: touchedFiles,
    max_output_length: maybe(Type.Integer()),
    status: maybe(itemStatus),
  }),
};

const mcp = {
  mcp_list_tools: Type.Object({
    type: Type.Literal('mcp_list_tools'),
    id: Type.String(),
    server_label: Type.String(),
    tools: Type.Array(
      Type.Object({
        name: Type.String(),
        input_schema: anyObject(),
        description: maybe(Type.String()),
        annotations: Type.Optional(Type.Unknown()),
      }),
    ),
    error: maybe(Type.String()),
  }),
  mcp_approval_request: Type.Object({
    type: Type.Literal('mcp_approval_request'),
    id: Type.String(),
    arguments: Type.String(),
    name: Type.String(),
    server_label: Type.String(),
  }),
  mcp_approval_response: Type.Object({
    type: Type.Literal('mcp_approval_response'),
    id: maybe(Type.String()),
    approval_request_id: Type.String(),
    approve: Type.Boolean(),
    reason: maybe(Type.String()),
  }),
  mcp_call: Type.Object({
    type: Type.Literal('mcp_call'),
    id: Type.String(),
    arguments: Type.String(),
    name: Type.String(),
    server_label: Type.String(),
    error: maybe(
      Type.Union([
        Type.String(),
        byKind(
          'an MCP error',
          'type',
          {
            mcp_protocol_error: Type.Object({
              type: Type.Literal('mcp_protocol_error'),
              code: Type.Integer(),
              message: Type.String(),
            }),
            http_error: Type.Object({
              type: Type.Literal('http_error'),
              code: Type.Integer(),
              message: Type.String(),
            }),
            mcp_tool_execution_error: Type.Object({
              type: Type.Literal('mcp_tool_execution_error'),
              content: Type.Optional(Type.Unknown()),
            }),
          },
          { other: unknownKind },
        ),
      ]),
    ),
    output: maybe(Type.String()),
  }),
};

const webSearchAction = byKind(
  'a search action',
  'type',
  {
    search: Type.Object({
      type: Type.Literal('search'),
      query: Type.String(),
      queries: Type.Optional(strings()),
      sources: Type.Optional(Type.Array(urlSource)),
    }),
    open_page: Type.Object({ type: Type.Literal('open_page'), url: maybe(Type.String()) }),
    find_in_page: Type.Object({ type: Type.Literal('find_in_page'), pattern: Type.String(), url: Type.String() }),
  },
  { other: unknownKind },
);

const codeOutput = byKind(
  'a code interpreter output',
  'type',
  {
    logs: Type.Object({ type: Type.Literal('logs'), logs: Type.String() }),
    image: Type.Object({ type: Type.Literal('image'), url: Type.String() }),
    file: Type.Object({
      type: Type.Literal('file'),
      id: Type.Optional(Type.String()),
      filename: Type.Optional(Type.String()),
      media_type: Type.Optional(Type.String()),
      size_bytes: Type.Optional(Type.Integer()),
      sha256: Type.Optional(Type.String()),
      status: Type.Optional(Type.String()),
      download_url: Type.Optional(Type.String()),
      expires_at: Type.Optional(Type.String()),
      error_code: maybe(Type.String()),
    }),
  },
  { other: unknownKind },
);

const hostedCalls = {
  web_search_call: Type.Object({
    type: Type.Literal('web_search_call'),
    id: Type.String(),
    status: searchStatus,
    action: Type.Optional(webSearchAction),
  }),
  file_search_call: Type.Object({
    type: Type.Literal('file_search_call'),
    id: Type.String(),
    queries: strings(),
    status: searchStatus,
    results: maybe(
      Type.Array(
        Type.Object({
          attributes: maybe(anyObject()),
          file_id: Type.Optional(Type.String()),
          filename: Type.Optional(Type.String()),
          score: Type.Optional(Type.Number()),
          text: Type.Optional(Type.String()),
        }),
      ),
    ),
  }),
  image_generation_call: Type.Object({
    type: Type.Literal('image_generation_call'),
    id: Type.String(),
    status: openWord('in_progress', 'completed', 'generating', 'failed'),
    prompt: Type.Optional(Type.String()),
    result: maybe(Type.String()),
  }),
  code_interpreter_call: Type.Object({
    type: Type.Literal('code_interpreter_call'),
    id: Type.String(),
    status: failableStatus,
    code: maybe(Type.String()),
    container_id: Type.Optional(Type.String()),
    outputs: Type.Optional(nullable(Type.Array(codeOutput))),
  }),
  computer_call: Type.Object({
    type: Type.Literal('computer_call'),
    id: Type.Optional(Type.String()),
    call_id: Type.String(),
    pending_safety_checks: Type.Array(Type.Object({ id: Type.String(), code: Type.String(), message: Type.String() })),
    status: itemStatus,
    action: Type.Optional(Type.Unknown()),
  }),
};

/**
 * Patches, shells, MCP and the hosted calls of the compatible API.
 *
 * @see docs/reference/items.md#patches-and-shells, docs/reference/items.md#input-items
 */
export const hostedItems = { ...patches, ...shells, ...mcp, ...hostedCalls };
