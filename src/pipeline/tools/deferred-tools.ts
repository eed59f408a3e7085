import {
  type FunctionTool,
  type InputItem,
  isClientSearch,
  type NamespaceTool,
  type Tool,
  type ToolChoice,
} from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { listKnownTools } from '../../domain/tool-references.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { DeferredTool } from '../../tools/server-tool.ts';

/** Maximum texts of one tool that are searched. */
const MAX_TEXTS = 500;
/** Maximum depth of the arguments whose names and descriptions are searched. */
const MAX_DEPTH = 5;

type Member = NamespaceTool['tools'][number];

/** The tools of a request with `defer_loading`: the model sees them once a search has found them. */
export class DeferredTools {
  /** In the order of the request. */
  readonly list: readonly DeferredTool[];
  /** Found tools, in the order in which they were found. */
  private readonly found = new Set<FunctionTool | Member>();

  /** @param input tools that it shows as called or found are visible from the start */
  constructor({ tools = [], tool_choice: choice }: RequestSettings, input: readonly InputItem[]) {
    const searched = tools.some(isClientSearch) ? [] : tools; // its client finds them
    const deferred = searched.flatMap(listMembers).filter(({ member }) => isDeferred(member));
    const known = deferred.length === 0 ? undefined : listKnown(choice, input);
    this.list = deferred.map(({ member, name }) => this.add(member, name, known!)); // there is none without it
  }

  private add(member: FunctionTool | Member, name: string, known: ReadonlySet<string>): DeferredTool {
    const reveal = (): void => void this.found.add(member);
    if (known.has(name) || known.has(member.name)) reveal();
    const description = member.description ?? '';
    const texts = [name, description];
    if ('parameters' in member) addTexts(member.parameters, texts, 0);
    return { name, description, texts: texts.slice(0, MAX_TEXTS), reveal };
  }

  /**
   * Removes the tools that no search has found. A found function comes after all others, so that the earlier ones stay
   * in the provider's cache; a found member of a namespace stays in its namespace.
   */
  show(settings: Partial<RequestSettings>): Partial<RequestSettings> {
    const { tools = [], tool_choice: choice } = settings;
    const visible = tools.flatMap((tool): Tool[] => {
      if (tool.type === 'namespace') return this.showGroup(tool as NamespaceTool);
      return isDeferred(tool) ? [] : [tool];
    });
    const plain = tools.filter((tool) => tool.type === 'function' && isDeferred(tool));
    const added = [...this.found]
      .filter((tool) => plain.includes(tool as Tool))
      .map((tool) => withoutMark(tool) as Tool);
    const shown = { ...settings, tools: [...visible, ...added] };
    return choice === undefined ? shown : { ...shown, tool_choice: this.showChoice(choice) };
  }

  private showGroup(group: NamespaceTool): Tool[] {
    const tools = group.tools.filter((member) => !isDeferred(member) || this.found.has(member)).map(withoutMark);
    return tools.length === 0 ? [] : [{ ...group, tools }];
  }

  /** A search widens a choice of allowed tools. */
  private showChoice(choice: ToolChoice): ToolChoice {
    if (typeof choice === 'string' || choice.type !== 'allowed_tools') return choice;
    const listed = new Set(choice.tools.map(({ name }) => name));
    const found = [...this.found]
      .filter(({ name }) => !listed.has(name))
      .map(({ name }) => ({ type: 'function', name }));
    return { ...choice, tools: [...choice.tools, ...found] };
  }
}

const isDeferred = (tool: object): boolean => 'defer_loading' in tool && tool.defer_loading === true;

/** Only this gateway knows the mark. */
function withoutMark<T extends FunctionTool | Member>(tool: T): T {
  const { defer_loading: _, ...shown } = tool as T & { defer_loading?: boolean };
  return shown as T; // the field is optional
}

/** The functions of an entry, with the names that the model sees. */
function listMembers(tool: Tool): { member: FunctionTool | Member; name: string }[] {
  if (tool.type === 'function') return [{ member: tool as FunctionTool, name: (tool as FunctionTool).name }];
  if (tool.type !== 'namespace') return [];
  const group = tool as NamespaceTool;
  return group.tools.map((member) => ({ member, name: `${group.name}__${member.name}` }));
}

/** Names of tools that the model knows: those that the request allows, has called, or has found before. */
function listKnown(choice: ToolChoice | undefined, input: readonly InputItem[]): ReadonlySet<string> {
  const known = listKnownTools(choice, input);
  for (const item of input) {
    const { type, result } = item as { type: string } & Record<string, unknown>;
    if (type !== 'router:tool_search' || typeof result !== 'string') continue;
    const { tools } = parseObject(result) ?? {};
    for (const tool of Array.isArray(tools) ? tools : []) known.add(String((tool as { name?: unknown } | null)?.name));
  }
  return known;
}

/** Collects the names and descriptions of arguments. */
function addTexts(schema: unknown, texts: string[], depth: number): void {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH || texts.length > MAX_TEXTS) return;
  const { description, properties, items } = schema as Record<string, unknown>;
  if (typeof description === 'string' && depth > 0) texts.push(description);
  addTexts(items, texts, depth + 1);
  if (typeof properties !== 'object' || properties === null) return;
  for (const [name, property] of Object.entries(properties)) {
    texts.push(name);
    addTexts(property, texts, depth + 1);
  }
}
