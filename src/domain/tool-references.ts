import type { InputItem, ToolChoice } from './items.ts';
import { isNativePart } from './native.ts';

/** The kind of a part that names a tool which a search has found, in the format of Anthropic. */
const referenceType = 'anthropic:tool_reference';

/**
 * Returns the names of the tools that a part says a search has found: a reference in the result of a client's search, or
 * the result of a search of Anthropic.
 *
 * @see docs/reference/messages.md#tool-search
 */
export function readReferences(part: { type: string }): string[] {
  if (!isNativePart(part)) return [];
  const { tool_name: name, content } = part.block as { tool_name?: unknown; content?: unknown };
  if (part.type === referenceType) return typeof name === 'string' ? [name] : [];
  const { tool_references: list } = (content ?? {}) as { tool_references?: unknown };
  if (part.type !== 'anthropic:tool_search_tool_result' || !Array.isArray(list)) return [];
  return list.map((reference) => String((reference as { tool_name?: unknown } | null)?.tool_name));
}

/** Returns a reference as a text, for models of other formats; undefined for every other part. */
export function describeReference(part: { type: string }): { type: 'input_text'; text: string } | undefined {
  const [name] = part.type === referenceType ? readReferences(part) : [];
  return name === undefined ? undefined : { type: 'input_text', text: `Found the tool ${name}.` };
}

/** Returns the names of tools that the model knows: those that the request allows, has called, or has found before. */
export function listKnownTools(choice: ToolChoice | undefined, input: readonly InputItem[]): Set<string> {
  const known = new Set<string>();
  if (typeof choice === 'object') {
    const { tools = [], name } = choice as { tools?: { name?: string }[]; name?: string | null };
    for (const each of [...tools, { name }]) if (typeof each.name === 'string') known.add(each.name);
  }
  for (const item of input) {
    const { type, name, namespace, output, content } = item as { type: string } & Record<string, unknown>;
    if (type === 'function_call') known.add(typeof namespace === 'string' ? `${namespace}__${name}` : String(name));
    for (const parts of [output, content]) {
      if (!Array.isArray(parts)) continue;
      for (const part of parts) for (const found of readReferences(part as { type: string })) known.add(found);
    }
  }
  return known;
}
