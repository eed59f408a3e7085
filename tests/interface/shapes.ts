import { readFileSync } from 'node:fs';
import type { JsonSchema } from './arbitrary.ts';

const file = new URL('responses.schema.json', import.meta.url);
/** The strict shapes of the interface by name. */
export const definitions = (JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, JsonSchema> }).$defs;

/** The names of a union's members. */
export const namesOf = (definition: string): string[] =>
  definitions[definition]!.anyOf!.map((member) => member.$ref?.replace('#/$defs/', '') ?? '').filter(
    (name) => name !== '',
  );

export type Fields = Record<string, unknown>;

/** Number of names of advisors and subagents in use. */
let names = 0;

/**
 * Values that a shape allows and a rule of the pages forbids: the strict shapes state no rules between fields. Each entry repairs
 * a generated object so that only its shape matters. Together they list where the gateway is stricter.
 */
const rules: ((fields: Fields) => void)[] = [
  (part) => {
    if (part.type === 'input_image' && part.file_id == null) part.image_url ??= 'https://example.com/a.png';
    if (part.type === 'input_file') part.file_url ??= 'https://example.com/a.pdf';
  },
  (tool) => {
    if (tool.type === 'function' && 'name' in tool) tool.name = 'lookup'; // 1 to 64 of [A-Za-z0-9_-]
    if (tool.defer_loading === true) tool.defer_loading = false; // needs tool search
    if (tool.type === 'mcp' && 'server_label' in tool) tool.server_url ??= 'https://example.com/mcp';
    if (tool.type === 'router:datetime' && 'parameters' in tool) tool.parameters = { timezone: 'UTC' };
    if (tool.type === 'router:advisor') tool.parameters = { ...(tool.parameters as Fields), name: ` A-${names++} ` }; // unique
  },
  (tool) => {
    if (tool.type !== 'router:subagent') return;
    const parameters: Fields = { ...(tool.parameters as Fields), name: `worker-${names++}` }; // unique
    tool.parameters = parameters;
    delete parameters.inherited_function_names; // must be functions of the request
    if ('tools' in parameters) parameters.tools = [{ type: 'router:files' }]; // server tools only
  },
  (tool) => {
    if (tool.type === 'code_interpreter' && typeof tool.container === 'string') tool.container = 'cntr_1';
    if (tool.type !== 'router:bash' && tool.type !== 'router:shell') return;
    const parameters = tool.parameters as Fields | undefined;
    if (typeof parameters?.sleep_after_seconds === 'number') parameters.sleep_after_seconds = 60; // 1 or more
  },
  (search) => {
    if ('allowed_x_handles' in search) delete search.excluded_x_handles;
  },
  (choice) => {
    if (choice.type !== 'allowed_tools') return;
    for (const tool of choice.tools as Fields[]) tool.type = 'mcp'; // an entry names a type
  },
  (call) => {
    if (call.type === 'function_call') delete call.subagent_id; // must match a subagent item
  },
  (provider) => {
    if (typeof provider.max_price !== 'object' || provider.max_price === null) return;
    const prices = provider.max_price as Fields;
    for (const key of Object.keys(prices)) if (typeof prices[key] === 'string') prices[key] = '0.5';
  },
];

export function mend(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) for (const rule of rules) rule(value as Fields);
  for (const each of Object.values(value)) mend(each);
}
