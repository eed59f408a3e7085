import type { FlatTool, ToolPlan } from '../kit/tool-box.ts';
import type { ChatTool, ChatToolChoice } from './wire.ts';

export const writeTool = (tool: FlatTool): ChatTool => ({ type: 'function', function: tool });

export function writeChoice(choice: NonNullable<ToolPlan['choice']>): ChatToolChoice {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } };
}
