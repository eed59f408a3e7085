import { FUNCTION_PREFIX } from '../../domain/native.ts';
import type { FlatTool, ToolPlan } from '../kit/tool-box.ts';
import type { ChatDraft } from './draft.ts';
import type { ChatTool, ChatToolChoice } from './wire.ts';

export function writeTool(draft: ChatDraft, { native, ...tool }: FlatTool): ChatTool {
  if (!native) return { type: 'function', function: tool };
  const outer: Record<string, unknown> = {};
  const inner: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(native)) {
    const isInner = field.startsWith(FUNCTION_PREFIX);
    const name = isInner ? field.slice(FUNCTION_PREFIX.length) : field;
    if (name !== 'cache_control' || draft.dialect.cache_control) (isInner ? inner : outer)[name] = value;
    else if (!draft.dropped.includes('cache_control')) draft.dropped.push('cache_control');
  }
  return { ...outer, type: 'function', function: { ...inner, ...tool } };
}

export function writeChoice(choice: NonNullable<ToolPlan['choice']>): ChatToolChoice {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}
