import { nameKind } from './native.ts';

/** Kinds of tools that do the same as a server tool, where the provider does not run them. */
const sameAs: ReadonlyMap<string, string> = new Map([
  ['web_search', 'router:web_search'],
  ['web_search_2025_08_26', 'router:web_search'],
  ['web_search_preview', 'router:web_search'],
  ['web_search_preview_2025_03_11', 'router:web_search'],
  ['shell', 'router:shell'],
  ['local_shell', 'router:shell'],
  ['code_interpreter', 'router:code_interpreter'],
  ['apply_patch', 'router:apply_patch'],
  ['file_search', 'router:file_search'],
  ['image_generation', 'router:image_generation'],
  ['tool_search', 'router:tool_search'],
]);

/**
 * Returns the server tool that a kind of tool stands for; the kind itself: none. A provider's newer kind of a known tool
 * has a longer name, as `web_search_2027_01_01` has.
 */
export function serverToolOf(type: string): string {
  const name = nameKind(type);
  return sameAs.get(name) ?? [...sameAs].find(([known]) => name.startsWith(`${known}_`))?.[1] ?? type;
}

/** Plugins that work by a server tool, or do the same (docs/reference/plugins.md, docs/reference/routers.md). */
export const toolsOfPlugins: ReadonlyMap<string, string> = new Map([
  ['web', 'router:web_search'],
  ['web-fetch', 'router:web_fetch'],
  ['fusion', 'router:fusion'],
]);
