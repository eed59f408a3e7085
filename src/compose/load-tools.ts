import { routerItems } from '../requests/responses/schema/router-items.ts';
import { serverTools } from '../requests/responses/schema/server-tools.ts';
import { addedToolPattern } from '../domain/added-tools.ts';
import { defineServerTool, type ServerTool, type ToolDefinition } from '../tools/server-tool.ts';
import { loadModules } from './load-modules.ts';

/** Types that the interface has, offered or not. */
const reserved: ReadonlySet<string> = new Set([...Object.keys(serverTools), ...Object.keys(routerItems)]);

/**
 * Loads the tools of the operator.
 *
 * @param paths `tools.modules`
 * @throws with a message for the operator if a module cannot be loaded, or exports something else
 */
export async function loadTools(paths: readonly string[]): Promise<ServerTool[]> {
  const taken = new Set<string>();
  const modules = await loadModules(paths, 'tools.modules');
  return modules.map(({ path, definition }) => {
    const problem = findProblem(definition, taken);
    if (problem !== undefined) throw new Error(`tools.modules: ${path}: ${problem}`);
    // its fields are checked above; schemas are JSON Schema
    const tool = defineServerTool(definition as unknown as ToolDefinition);
    taken.add(tool.type);
    return tool;
  });
}

/** @returns why the definition cannot be used */
function findProblem(definition: Record<string, unknown>, taken: ReadonlySet<string>): string | undefined {
  const { type, description, parameters, arguments: input, execute, item, replay, check, timeoutMs } = definition;
  const { show, checkEntries, writeFailure, resume } = definition;
  if (typeof type !== 'string' || !addedToolPattern.test(type)) {
    return '`type` must be `router:` and a name of lower-case letters, digits and `_`, at most 57 characters.';
  }
  if (reserved.has(type)) return `\`type\` is \`${type}\`, which the interface has; choose another name.`;
  if (taken.has(type)) return `\`type\` is \`${type}\`, which another module has.`;
  if (typeof description !== 'string' || description === '') return '`description` must be a text for the model.';
  if (!isObjectSchema(input)) return '`arguments` must be a JSON Schema of the type `object`.';
  if (parameters !== undefined && !isObjectSchema(parameters)) {
    return '`parameters` must be a JSON Schema of the type `object`.';
  }
  if (typeof execute !== 'function') return '`execute` must be a function.';
  for (const [name, value] of Object.entries({ item, replay, check, show, checkEntries, writeFailure, resume })) {
    if (value !== undefined && typeof value !== 'function') return `\`${name}\` must be a function.`;
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS)) {
    return `\`timeoutMs\` must be a number of milliseconds up to ${MAX_TIMEOUT_MS}.`;
  }
  return undefined;
}

/** The longest delay of a timer. */
const MAX_TIMEOUT_MS = 2_147_483_647;

const isObjectSchema = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && (schema as { type?: unknown }).type === 'object';
