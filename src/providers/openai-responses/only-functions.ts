import type { InputItem, ToolChoice } from '../../domain/items.ts';
import { addTools, planTools, ToolBox, upstreamName } from '../kit/tool-box.ts';
import type { ResponsesDraft, WireBody } from './fit.ts';

/**
 * Writes custom tools, groups and their calls as functions, for a server of the format that has nothing else. Tools of
 * the provider are left out. The reader gives the calls their own kinds again.
 */
export function writeOnlyFunctions(draft: ResponsesDraft, body: WireBody): void {
  const box = new ToolBox();
  addTools(draft, box, {
    tools: body.tools ?? [],
    path: 'tools',
    takeOther(tool, place) {
      draft.dropped.push(`${place()} (${tool.type})`);
      return true;
    },
  });
  const { tools, choice } = planTools(draft, box, body.tool_choice as ToolChoice | undefined);
  const written = tools.map(({ native: _, parameters = null, strict = false, ...tool }) => ({
    type: 'function',
    ...tool,
    parameters,
    strict,
  })) as NonNullable<WireBody['tools']>;
  if (written.length > 0) body.tools = written;
  else delete body.tools;
  if (choice === undefined || tools.length === 0) delete body['tool_choice'];
  else body['tool_choice'] = typeof choice === 'object' ? { type: 'function', ...choice } : choice;
  const input = body.input.map(writeItem);
  if (box.offered) draft.offered = box.offered;
  if (box.offered || input.some((item, index) => item !== body.input[index])) draft.adapted.add('kinds of tools');
  body.input = input;
}

function writeItem(item: InputItem): InputItem {
  switch (item.type) {
    case 'function_call': {
      const { namespace, ...call } = item;
      return namespace === undefined ? item : { ...call, name: upstreamName(call.name, namespace) };
    }
    case 'custom_tool_call': {
      const { namespace, input, name, ...call } = item;
      const text = JSON.stringify({ input });
      return { ...call, type: 'function_call', name: upstreamName(name, namespace), arguments: text };
    }
    case 'custom_tool_call_output':
      return { ...item, type: 'function_call_output' };
    default:
      return item;
  }
}
