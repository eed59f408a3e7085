import { searchTypes, type Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { readNative } from '../../domain/native.ts';
import { dropUnknown } from '../kit/draft.ts';
import { addTools, type FlatTool, planTools, ToolBox } from '../kit/tool-box.ts';
import type { WireConversation } from './messages.ts';
import type { MessagesDraft } from './parts.ts';

export interface WrittenTools {
  tools: object[];
  choice: { type: string; name?: string; disable_parallel_tool_use?: boolean } | undefined;
  box: ToolBox;
  /** Whether the model must call a tool. No model combines this with thinking. */
  isForced: boolean;
}

/** Function tools, custom tools as functions, and the provider's own search. */
export function writeTools(
  draft: MessagesDraft,
  request: ResponseRequest,
  conversation: WireConversation,
): WrittenTools {
  const box = new ToolBox();
  const native: object[] = [];
  const takeOther = (tool: Tool, place: () => string): boolean => {
    const given = draft.keepsNative ? readNative(tool) : undefined;
    const written = given ?? (draft.dialect.native_search ? writeSearch(draft, tool, place) : undefined);
    if (written) native.push(written);
    return written !== undefined;
  };
  if (request.tools) addTools(draft, box, { tools: request.tools, path: 'tools', takeOther });
  for (const list of conversation.additionalTools) addTools(draft, box, { ...list, replaces: true, takeOther });
  const forced = findForced(native, request.tool_choice);
  const asked = forced === undefined ? request.tool_choice : undefined;
  const plan = planTools(draft, box, asked);
  const tools = [...plan.tools.map((tool) => writeTool(draft, tool)), ...native];
  const choice = writeChoice(
    draft,
    request,
    plan.choice ?? (forced === undefined ? undefined : { name: forced }),
    tools.length,
  );
  return { tools, choice, box, isForced: choice?.type === 'any' || choice?.type === 'tool' };
}

function writeTool({ dialect, dropped, target, keepsNative }: MessagesDraft, tool: FlatTool): object {
  if (tool.native?.type !== undefined) return tool.native; // a tool of the client whose schema the models know
  const written: Record<string, unknown> = { name: tool.name };
  if (tool.description) written.description = tool.description;
  written.input_schema = tool.parameters ?? { type: 'object', properties: {} };
  if (tool.strict !== undefined) {
    if (dialect.strict_tools || keepsNative) written.strict = tool.strict;
    else if (tool.strict) dropped.push(`tools.${tool.name}.strict`);
  }
  if (tool.cacheControl) written.cache_control = tool.cacheControl;
  if (dialect.eager_input && target.stream) written.eager_input_streaming = true;
  return Object.assign(written, tool.native);
}

const domainFields = ['allowed_domains', 'blocked_domains', 'excluded_domains'];
const searchFields = new Set(['type', 'filters', 'user_location', 'max_uses', ...domainFields]);
const filterFields = new Set(domainFields);

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

/** @see docs/reference/wires.md */
function writeSearch(draft: MessagesDraft, tool: Tool, place: () => string): object | undefined {
  if (!searchTypes.has(tool.type)) return undefined;
  dropUnknown(draft, tool, searchFields, place);
  const { filters, user_location: location, max_uses: maxUses } = tool as Record<string, unknown>;
  const limits = { ...tool, ...(filters as object | undefined) } as Record<string, unknown>;
  dropUnknown(draft, (filters ?? {}) as object, filterFields, () => `${place()}.filters`);
  const blocked = limits.blocked_domains ?? limits.excluded_domains;
  const written: Record<string, unknown> = { type: 'web_search_20250305', name: 'web_search' };
  if (typeof maxUses === 'number') written.max_uses = maxUses;
  if (isFilled(limits.allowed_domains)) written.allowed_domains = limits.allowed_domains;
  if (isFilled(blocked)) written.blocked_domains = blocked;
  if (location) written.user_location = { type: 'approximate', ...location };
  return written;
}

/** Returns the name of the provider's tool that a choice forces. */
function findForced(native: readonly object[], choice: unknown): string | undefined {
  const { type } = (choice ?? {}) as { type?: string };
  const forced = (native as { type?: string; name?: string }[]).find(
    (tool) => `anthropic:${tool.type}` === type || (isSearchChoice(choice) && tool.name === 'web_search'),
  );
  return forced?.name;
}

const isSearchChoice = (choice: unknown): boolean =>
  typeof choice === 'object' && choice !== null && searchTypes.has((choice as { type: string }).type);

function writeChoice(
  draft: MessagesDraft,
  request: ResponseRequest,
  choice: 'auto' | 'none' | 'required' | { name: string } | undefined,
  count: number,
): WrittenTools['choice'] {
  const isSerial = request.parallel_tool_calls === false;
  if (count === 0) {
    if (isSerial) draft.dropped.push('parallel_tool_calls');
    return undefined;
  }
  const name = typeof choice === 'object' ? choice.name : undefined;
  if (name === undefined && choice === undefined && !isSerial) return undefined;
  const type = name !== undefined ? 'tool' : choice === 'required' ? 'any' : choice === 'none' ? 'none' : 'auto';
  const written: NonNullable<WrittenTools['choice']> = name === undefined ? { type } : { type, name };
  if (isSerial && type !== 'none') written.disable_parallel_tool_use = true;
  return written;
}
