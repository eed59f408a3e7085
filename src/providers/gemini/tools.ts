import { searchTypes, type Tool, type ToolChoice } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { isNativePart, readNative } from '../../domain/native.ts';
import { dropUnknown, refuse, refuseBecause } from '../kit/draft.ts';
import { addTools, type FlatTool, planTools, ToolBox, type ToolPlan } from '../kit/tool-box.ts';
import type { WireConversation } from './contents.ts';
import type { GeminiDraft } from './parts.ts';
import { writeSubset } from './schema.ts';
import type { ReaderContext } from './wire.ts';

export interface WrittenTools {
  readerContext: ReaderContext;
  tools: object[];
  toolConfig: object | undefined;
}

/** Function tools, custom tools as functions, and the provider's own search. */
export function writeTools(draft: GeminiDraft, request: ResponseRequest, conversation: WireConversation): WrittenTools {
  const box = new ToolBox();
  let offersSearch = false;
  let search: object = { googleSearch: {} };
  const given: object[] = [];
  const native = request.native?.format === 'gemini' ? request.native : undefined;
  const takeOther = (tool: Tool, place: () => string): boolean => {
    const own = draft.keepsNative ? readNative(tool) : undefined;
    if (own && isNativePart(tool)) {
      given.push(own);
      return true;
    }
    if (!draft.dialect.native_search || !searchTypes.has(tool.type)) return false;
    checkSearch(draft, tool, place);
    offersSearch = true;
    search = own ?? search;
    return true;
  };
  if (request.tools) addTools(draft, box, { tools: request.tools, path: 'tools', takeOther });
  for (const list of conversation.additionalTools) addTools(draft, box, { ...list, replaces: true, takeOther });
  if (request.parallel_tool_calls === false) draft.dropped.push('parallel_tool_calls');
  // The client's own configuration has its choice: see `native.ts`.
  const isOwn = native?.fields.toolConfig !== undefined && request.tool_choice === native.replaces.tool_choice;
  const choice = isOwn ? undefined : request.tool_choice;
  const { plan, searches } = offersSearch
    ? planBoth(draft, box, choice)
    : { plan: planTools(draft, box, choice), searches: false };
  const tools: object[] = [];
  if (plan.tools.length > 0) tools.push({ functionDeclarations: plan.tools.map((tool) => writeTool(draft, tool)) });
  if (searches) tools.push(search);
  tools.push(...given);
  const readerContext: ReaderContext = {};
  if (box.offered) readerContext.tools = box.offered;
  if (searches) readerContext.searches = true;
  return { readerContext, tools, toolConfig: plan.tools.length > 0 ? writeChoice(plan.choice) : undefined };
}

/** Plans functions and search. The protocol's modes apply to functions only, so the search is never forced. */
function planBoth(
  draft: GeminiDraft,
  box: ToolBox,
  choice: ToolChoice | undefined,
): { plan: ToolPlan; searches: boolean } {
  const isAlone = box.tools.size === 0;
  if (choice === 'none') return { plan: isAlone ? { tools: [] } : planTools(draft, box, choice), searches: false };
  if (choice === 'auto' && isAlone) return { plan: { tools: [] }, searches: true };
  const forced = () => refuse(draft, 'tool_choice', 'A choice that forces a web search');
  if (choice === 'required' && isAlone) throw forced();
  if (typeof choice !== 'object' || choice === null) return { plan: planTools(draft, box, choice), searches: true };
  if (searchTypes.has(choice.type)) throw forced();
  if (choice.type !== 'allowed_tools') return { plan: planTools(draft, box, choice), searches: true };
  const others = choice.tools.filter(({ type }) => !searchTypes.has(type));
  const searches = others.length < choice.tools.length;
  if (searches && others.length === 0 && choice.mode === 'required') throw forced();
  return { plan: planTools(draft, box, { ...choice, tools: others }), searches };
}

function writeTool(draft: GeminiDraft, { name, description, parameters, strict, native }: FlatTool): object {
  const written: Record<string, unknown> = { name };
  if (description) written.description = description;
  if (parameters && draft.dialect.schema === 'json') written.parametersJsonSchema = parameters;
  else if (parameters) {
    const subset = writeSubset(draft, parameters, `tools.${name}.parameters`);
    // The provider rejects an object without properties. Omitting the parameters means the same.
    if (!isEmptyObject(subset)) written.parameters = subset;
  }
  if (strict) draft.dropped.push(`tools.${name}.strict`);
  if (!native) return written;
  if (native.parameters) delete written.parametersJsonSchema;
  return Object.assign(written, native);
}

const isEmptyObject = ({ type, properties, anyOf }: Record<string, unknown>): boolean =>
  (type === 'object' || type === undefined) && anyOf === undefined && Object.keys(properties ?? {}).length === 0;

const domainFields = ['allowed_domains', 'blocked_domains', 'excluded_domains'] as const;
const searchFields = new Set<string>(['type', 'filters', 'engine', ...domainFields]);
const filterFields = new Set<string>(domainFields);

/** Writes the provider's search, which accepts no domains. @see docs/reference/wires.md */
function checkSearch(draft: GeminiDraft, tool: Tool, place: () => string): void {
  const { filters, engine } = tool as Record<string, unknown>;
  for (const holder of [tool, filters ?? {}] as Record<string, unknown>[]) {
    for (const field of domainFields) {
      const domains = holder[field];
      if (!Array.isArray(domains) || domains.length === 0) continue;
      throw refuseBecause(
        `${place()}.${holder === tool ? '' : 'filters.'}${field}`,
        `The search of ${draft.target.endpoint} takes no domains, neither to search nor to leave out.`,
      );
    }
  }
  dropUnknown(draft, tool, searchFields, place);
  dropUnknown(draft, filters ?? {}, filterFields, () => `${place()}.filters`);
  if (engine && engine !== 'auto' && engine !== 'native') draft.dropped.push(`${place()}.engine`);
}

function writeChoice(choice: ToolPlan['choice']): object | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === 'object') {
    return { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: [choice.name] } };
  }
  const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' };
  return { functionCallingConfig: { mode: modes[choice] } };
}
