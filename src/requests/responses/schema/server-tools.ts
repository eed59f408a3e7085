import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { byKind } from '../../../schema/by-kind.ts';
import { anyObject, unknownKind } from '../../../schema/shapes.ts';
import { advisorParameters } from '../../../tools/advisor/parameters.ts';
import { applyPatchParameters } from '../../../tools/apply-patch/parameters.ts';
import { bashParameters } from '../../../tools/bash/parameters.ts';
import { codeInterpreterParameters } from '../../../tools/code-interpreter/parameters.ts';
import { datetimeParameters } from '../../../tools/datetime/parameters.ts';
import { fileSearchParameters } from '../../../tools/file-search/parameters.ts';
import { fusionParameters } from '../../../tools/fusion/parameters.ts';
import { imageGenerationParameters } from '../../../tools/image-generation/parameters.ts';
import { searchModelsParameters } from '../../../tools/search-models/parameters.ts';
import { shellParameters } from '../../../tools/shell/parameters.ts';
import { subagentFields } from '../../../tools/subagent/parameters.ts';
import { textEditorParameters } from '../../../tools/text-editor/parameters.ts';
import { toolSearchParameters } from '../../../tools/tool-search/parameters.ts';
import { addedToolPattern } from '../../../domain/added-tools.ts';
import { webFetchParameters } from '../../../tools/web-fetch/parameters.ts';
import { webSearchParameters } from '../../../tools/web-search/parameters.ts';

const closed = { additionalProperties: false };

/** Exactly two keys, and `parameters` has none but those listed (docs/reference/responses.md#request-body). */
const tool = <const Kind extends string, Parameters extends TSchema>(type: Kind, parameters: Parameters) =>
  Type.Object({ type: Type.Literal(type), parameters: Type.Optional(parameters) }, closed);

const parameters = <Fields extends TProperties>(fields: Fields) => Type.Object(fields, closed);

const webSearch = tool('router:web_search', webSearchParameters);

const fusion = tool('router:fusion', fusionParameters);

const advisor = tool('router:advisor', advisorParameters);

const noParameters = Type.Unsafe<Record<string, never>>({ type: 'object', properties: {}, ...closed });

/** A tool that the operator has added. Whether there is one of this type is known only to the gateway. */
export const addedTool = {
  other: Type.Object({ type: Type.String(), parameters: Type.Optional(anyObject()) }, closed),
  takesOther: (type: string) => addedToolPattern.test(type),
};

/** A tool whose kind only a provider knows. The types of the gateway's own tools are never unknown. */
const providersTool = Type.Refine(
  unknownKind,
  ({ type }) => !type.startsWith('router:'),
  () => 'must be a tool of the gateway',
);

/** Every tool that the interface does not list: that of an operator, or of a provider. */
export const otherTool = {
  other: Type.Union([addedTool.other, providersTool]),
  takesOther: (type: string) => !type.startsWith('router:') || addedTool.takesOther(type),
};

/** The tools of a subagent that the interface has. */
const workerTools = {
  'router:web_search': webSearch,
  'router:web_fetch': tool('router:web_fetch', webFetchParameters),
  'router:datetime': tool('router:datetime', datetimeParameters),
  'router:image_generation': tool('router:image_generation', imageGenerationParameters),
  'router:experimental__search_models': tool('router:experimental__search_models', searchModelsParameters),
  'router:tool_search': tool('router:tool_search', toolSearchParameters),
  'router:files': tool('router:files', noParameters),
  'router:file_search': tool('router:file_search', fileSearchParameters), // choice 551
  'router:memory': tool('router:memory', noParameters), // choice 429
  'router:fusion': fusion,
  'router:advisor': advisor,
  'router:apply_patch': tool('router:apply_patch', applyPatchParameters),
  'router:shell': tool('router:shell', shellParameters),
  'router:bash': tool('router:bash', bashParameters),
  'router:code_interpreter': tool('router:code_interpreter', codeInterpreterParameters), // choice 520
  'router:text_editor': tool('router:text_editor', textEditorParameters), // choice 520
};

/** The tools of a subagent: every server tool except another subagent, and those of the operator. */
const tools = Type.Optional(
  Type.Array(
    byKind('a tool of a subagent', 'type', workerTools, {
      ...addedTool,
      takesOther: (type) => type !== 'router:subagent' && addedTool.takesOther(type),
    }),
  ),
);

const subagent = tool('router:subagent', parameters({ ...subagentFields, tools }));

/** The gateway's own tools, and the alias `tool_search`. @see docs/reference/tools.md#server-tools */
export const serverTools = {
  ...workerTools,
  'router:subagent': subagent,
  tool_search: tool('tool_search', toolSearchParameters),
};

/** Their types, without the alias. */
export const serverToolTypes: readonly string[] = Object.keys(serverTools).filter((type) => type !== 'tool_search');

/** Whether it is one of them, MCP, or the type of a tool that an operator may have added. */
export const isServerToolType = (type: string): boolean =>
  serverToolTypes.includes(type) || type === 'mcp' || addedToolPattern.test(type);

/** The type of a server tool, such as `router:web_search`. */
export type ServerToolType = Static<(typeof serverTools)[keyof typeof serverTools]>['type'];
