import { type TProperties, Type } from 'typebox';
import { maybe, oneOf, strings } from '../../../schema/shapes.ts';
import { commandOutput, patchOperation, shellAction, touchedFiles, urlSource } from './hosted-items.ts';

const text = () => Type.Optional(Type.String());
const head = { id: text(), status: oneOf('in_progress', 'completed', 'incomplete', 'failed') };

const item = <const Kind extends string, Fields extends TProperties>(type: Kind, fields: Fields) =>
  Type.Object({ type: Type.Literal(type), ...fields });

const fusionAnalysis = Type.Object({
  consensus: strings(),
  contradictions: Type.Array(
    Type.Object({
      topic: Type.String(),
      stances: Type.Array(Type.Object({ model: Type.String(), stance: Type.String() })),
    }),
  ),
  partial_coverage: Type.Array(Type.Object({ models: strings(), point: Type.String() })),
  unique_insights: Type.Array(Type.Object({ model: Type.String(), insight: Type.String() })),
  blind_spots: strings(),
});

/**
 * The calls of the gateway's own tools, as callers send them back in `input`.
 *
 * @see docs/reference/items.md#items-of-server-tools
 */
export const routerItems = {
  'router:web_search': item('router:web_search', {
    ...head,
    action: Type.Optional(
      Type.Object({
        type: Type.Literal('search'),
        query: Type.String(),
        sources: Type.Optional(Type.Array(urlSource)),
      }),
    ),
  }),
  'router:web_fetch': item('router:web_fetch', {
    ...head,
    url: text(),
    title: text(),
    content: text(),
    error: text(),
    httpStatus: Type.Optional(Type.Integer()),
  }),
  'router:datetime': item('router:datetime', { ...head, datetime: Type.String(), timezone: Type.String() }),
  'router:image_generation': item('router:image_generation', {
    ...head,
    prompt: text(),
    revisedPrompt: text(),
    imageUrl: text(),
    imageB64: text(),
    result: maybe(Type.String()),
  }),
  'router:experimental__search_models': item('router:experimental__search_models', {
    ...head,
    query: text(),
    arguments: text(),
  }),
  'router:tool_search': item('router:tool_search', { ...head, query: text() }),
  'router:files': item('router:files', {
    ...head,
    operation: text(),
    file_id: text(),
    filename: text(),
    result: text(),
    error: text(),
    call_id: maybe(Type.String()),
    arguments: maybe(Type.String()),
  }),
  'router:fusion': item('router:fusion', {
    ...head,
    analysis: Type.Optional(fusionAnalysis),
    responses: Type.Optional(Type.Array(Type.Object({ model: Type.String(), content: text() }))),
    failed_models: Type.Optional(
      Type.Array(
        Type.Object({ model: Type.String(), error: Type.String(), status_code: Type.Optional(Type.Integer()) }),
      ),
    ),
    sources: Type.Optional(Type.Array(Type.Object({ url: Type.String(), title: Type.String() }))),
    error: text(),
    failure_reason: text(),
  }),
  'router:advisor': item('router:advisor', {
    ...head,
    prompt: text(),
    advice: text(),
    model: text(),
    error: text(),
    instance_name: text(),
  }),
  'router:subagent': item('router:subagent', {
    ...head,
    call_id: text(),
    name: text(),
    task_name: text(),
    task_description: text(),
    outcome: text(),
    model: text(),
    error: text(),
    instance_name: text(),
  }),
  'router:apply_patch': item('router:apply_patch', {
    ...head,
    call_id: text(),
    operation: Type.Optional(patchOperation),
  }),
  'router:shell': item('router:shell', {
    ...head,
    action: Type.Optional(shellAction),
    output: Type.Optional(Type.Array(commandOutput)),
    call_id: maybe(Type.String()),
    arguments: maybe(Type.String()),
    container_id: text(),
    error: text(),
    files: touchedFiles,
  }),
  'router:bash': item('router:bash', {
    ...head,
    command: text(),
    stdout: text(),
    stderr: text(),
    exitCode: Type.Optional(Type.Integer()),
    call_id: maybe(Type.String()),
    arguments: maybe(Type.String()),
    container_id: text(),
    error: text(),
    files: touchedFiles,
  }),
  'router:code_interpreter': item('router:code_interpreter', {
    ...head,
    code: text(),
    language: text(),
    stdout: text(),
    stderr: text(),
    exitCode: Type.Optional(Type.Integer()),
  }),
  'router:file_search': item('router:file_search', { ...head, queries: Type.Optional(strings()) }),
  'router:browser_use': item('router:browser_use', { ...head, action: text(), screenshotB64: text() }),
  'router:text_editor': item('router:text_editor', {
    ...head,
    command: Type.Optional(oneOf('view', 'create', 'str_replace', 'insert')),
    filePath: text(),
  }),
  'router:memory': item('router:memory', {
    ...head,
    action: Type.Optional(oneOf('read', 'write', 'delete')),
    key: text(),
    value: Type.Optional(Type.Unknown()),
  }),
  'router:mcp': item('router:mcp', { ...head, serverLabel: text(), toolName: text() }),
};
