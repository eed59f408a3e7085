import { FUNCTION_PREFIX } from '../../domain/native.ts';
import type { FlatTool, ToolPlan } from '../kit/tool-box.ts';
import type { ChatDraft } from './draft.ts';
import { withoutScope } from './parts.ts';
import type { ChatTool, ChatToolChoice } from './wire.ts';

/** @see https://openrouter.ai/docs/agent-sdk/typescript/api-reference/models/chatfunctiontoolfunction for the mark */
export function writeTool(draft: ChatDraft, { native, cacheControl, ...tool }: FlatTool): ChatTool {
  const mark = cacheControl && { cache_control: withoutScope(draft, cacheControl) };
  if (!native) return { ...mark, type: 'function', function: tool };
  const outer: Record<string, unknown> = { ...mark };
  const inner: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(native)) {
    const isInner = field.startsWith(FUNCTION_PREFIX);
    (isInner ? inner : outer)[isInner ? field.slice(FUNCTION_PREFIX.length) : field] = value;
  }
  return { ...outer, type: 'function', function: { ...inner, ...tool } };
}

export function writeChoice(choice: NonNullable<ToolPlan['choice']>): ChatToolChoice {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}
