import type { FindSearchEngine } from '../domain/web-search.ts';
import { advisor } from './advisor/index.ts';
import { applyPatch } from './apply-patch/index.ts';
import { createBash } from './bash/index.ts';
import { createCodeInterpreter } from './code-interpreter/index.ts';
import type { Containers } from './containers.ts';
import { datetime } from './datetime/index.ts';
import { createFileSearch } from './file-search/index.ts';
import type { FileTexts } from './file-search/search-files.ts';
import { createFiles } from './files/index.ts';
import type { WorkspaceFiles } from './workspace-files.ts';
import { createFusionTool, type FusionPorts } from './fusion/index.ts';
import { createMemory } from './memory/index.ts';
import { createImageGeneration, type ReadImageSettings } from './image-generation/index.ts';
import type { ServerTool } from './server-tool.ts';
import { createShell } from './shell/index.ts';
import { createSubagent, type SubagentPorts } from './subagent/index.ts';
import { createSearchModels, type ListModels } from './search-models/index.ts';
import { type CompilePattern, createToolSearch } from './tool-search/index.ts';
import { createTextEditor } from './text-editor/index.ts';
import { createWebFetch } from './web-fetch/index.ts';
import type { ReadPage } from './web-fetch/page.ts';
import { createWebSearch } from './web-search/index.ts';

/** Parts that tools get when the gateway starts: a function for each outside operation. */
export interface ToolPorts extends SubagentPorts {
  findSearchEngine: FindSearchEngine;
  readPage: ReadPage;
  listModels: ListModels;
  compilePattern: CompilePattern;
  workspaceFiles: WorkspaceFiles;
  fileTexts: FileTexts;
  containers: Containers;
  fusion: FusionPorts;
  readImageSettings: ReadImageSettings;
}

const creators = {
  'router:datetime': () => datetime,
  'router:advisor': () => advisor,
  'router:subagent': createSubagent,
  'router:web_search': ({ findSearchEngine }) => createWebSearch(findSearchEngine),
  'router:web_fetch': ({ readPage }) => createWebFetch(readPage),
  'router:experimental__search_models': ({ listModels }) => createSearchModels(listModels),
  'router:tool_search': ({ compilePattern }) => createToolSearch(compilePattern),
  'router:files': ({ workspaceFiles }) => createFiles(workspaceFiles),
  'router:file_search': ({ fileTexts }) => createFileSearch(fileTexts),
  'router:memory': ({ workspaceFiles }) => createMemory(workspaceFiles),
  'router:fusion': ({ fusion }) => createFusionTool(fusion),
  'router:image_generation': ({ readImageSettings }) => createImageGeneration(readImageSettings),
  'router:apply_patch': () => applyPatch,
  'router:shell': ({ containers }) => createShell(containers),
  'router:bash': ({ containers }) => createBash(containers),
  'router:code_interpreter': ({ containers }) => createCodeInterpreter(containers),
  'router:text_editor': ({ containers }) => createTextEditor(containers),
} satisfies Record<string, (ports: ToolPorts) => ServerTool>;

/** The types of the server tools of this build. */
export const builtInTools: readonly string[] = Object.keys(creators);

/** Creates every server tool of this build. */
export const createTools = (ports: ToolPorts): readonly ServerTool[] =>
  Object.values(creators).map((create) => create(ports));
