/** The name of the server whose tools are those of the gateway, in blocks. choice 617 */
export const ownServer = 'router';

/** The field of the input of a call that has the whole item. */
export const SEALED_INPUT = 'router_item';

/** A tool that the format knows besides the search. */
export type KnownTool =
  | 'advisor'
  | 'web_fetch'
  | 'code_execution'
  | 'bash_code_execution'
  | 'text_editor_code_execution';

/** Types of items → the names of the same tools in the format, which its clients know. */
export const serverNames: ReadonlyMap<unknown, KnownTool | 'web_search'> = new Map([
  ['web_search_call', 'web_search'],
  ['router:web_search', 'web_search'],
  ['router:advisor', 'advisor'],
  ['router:web_fetch', 'web_fetch'],
  ['code_interpreter_call', 'code_execution'],
  ['router:code_interpreter', 'code_execution'],
  ['router:bash', 'bash_code_execution'],
  ['router:shell', 'bash_code_execution'],
  ['shell_call', 'bash_code_execution'],
  ['shell_call_output', 'bash_code_execution'],
  ['local_shell_call', 'bash_code_execution'],
  ['router:text_editor', 'text_editor_code_execution'],
]);
