import type { WireConversation } from './conversation.ts';
import { fillSchema } from './fill-schema.ts';
import type { OutputDirective } from './language.ts';
import { type SimulatorModel, composeText } from './models.ts';
import { findTool, listOfferedTools, requiresToolCall, type CallableTool } from './offered-tools.ts';
import { nameSubject } from './prose.ts';
import type { SimulatorRequest } from './wire.ts';

/** One complete output of a response. `answer.ts` splits it into tokens. */
export type Output =
  | { kind: 'reasoning'; text: string; summary?: string }
  | { kind: 'text'; text: string; cites: { url: string; title: string }[] }
  | { kind: 'refusal'; text: string }
  | { kind: 'call'; tool: CallableTool; text: string }
  | { kind: 'image'; prompt: string };

/** Plans the outputs: those of the directives, or else those that the request and the model imply. */
export function planOutputs(
  model: SimulatorModel,
  request: SimulatorRequest,
  conversation: WireConversation,
): Output[] {
  const { orders } = conversation.turn;
  const outputs: Output[] = [];
  if (!orders.some((order) => order.kind === 'reason')) {
    const thought = model.reason?.(conversation, request.reasoning ?? {}) ?? '';
    if (thought !== '') outputs.push(think(thought, request, conversation));
  }
  const isScripted = orders.some((order) => order.kind !== 'reason' && order.kind !== 'cite');
  const tools = listOfferedTools(request);
  for (const order of orders) if (order.kind !== 'cite') outputs.push(obey(order, tools, request, conversation));
  if (!isScripted) outputs.push(...answerFreely(model, tools, request, conversation));
  addCites(outputs, orders);
  return request.parallel_tool_calls === false ? keepFirstCall(outputs) : outputs;
}

function obey(
  order: Exclude<OutputDirective, { kind: 'cite' }>,
  tools: CallableTool[],
  request: SimulatorRequest,
  conversation: WireConversation,
): Output {
  switch (order.kind) {
    case 'say':
      return { kind: 'text', text: order.text, cites: [] };
    case 'refuse':
      return { kind: 'refusal', text: order.text };
    case 'reason':
      return think(order.text, request, conversation);
    case 'call': {
      const tool = findTool(tools, order.name);
      if (!tool) return { kind: 'text', text: `I was offered no tool named ${order.name}.`, cites: [] };
      return { kind: 'call', tool, text: order.rest || makeArguments(tool, conversation) };
    }
  }
}

function think(text: string, { reasoning }: SimulatorRequest, { prompt }: WireConversation): Output {
  return { kind: 'reasoning', text, ...(reasoning?.summary && { summary: `Thought about ${nameSubject(prompt)}.` }) };
}

function answerFreely(
  model: SimulatorModel,
  tools: CallableTool[],
  request: SimulatorRequest,
  conversation: WireConversation,
): Output[] {
  const { format, tool_choice: choice } = request;
  const tool = tools[0];
  if (tool && conversation.isFirstTurn && requiresToolCall(choice)) {
    return [{ kind: 'call', tool, text: makeArguments(tool, conversation) }];
  }
  if (model.draws) return [{ kind: 'image', prompt: conversation.prompt }];
  if (format?.type === 'json_schema') {
    return [{ kind: 'text', text: JSON.stringify(fillSchema(format.schema)), cites: [] }];
  }
  const text = composeText(model, conversation, request);
  if (format?.type === 'json_object') return [{ kind: 'text', text: JSON.stringify({ answer: text }), cites: [] }];
  return [{ kind: 'text', text, cites: [] }];
}

function makeArguments(tool: CallableTool, { prompt }: WireConversation): string {
  if (tool.kind === 'custom') return prompt || tool.name;
  const filled = fillSchema({ type: 'object', ...tool.parameters }); // arguments are an object, whatever the schema lacks
  if (!isServerFunction(tool.name) || !prompt) return JSON.stringify(filled);
  if (hasPrompt(filled)) return JSON.stringify({ ...filled, prompt });
  return JSON.stringify(hasQueries(filled) ? { ...filled, queries: [prompt.slice(0, MAX_QUERY)] } : filled);
}

/** Whether the gateway runs the function. */
const isServerFunction = (name: string): boolean => name.startsWith('router_');

/** Maximum characters of a query of the file search. */
const MAX_QUERY = 500;

const hasQueries = (filled: unknown): filled is { queries: unknown[] } =>
  typeof filled === 'object' && filled !== null && Array.isArray((filled as { queries?: unknown }).queries);

const hasPrompt = (filled: unknown): filled is { prompt: string } =>
  typeof filled === 'object' && filled !== null && typeof (filled as { prompt?: unknown }).prompt === 'string';

/** Adds a citation to the text before it, or to the first text if there is none before. */
function addCites(outputs: Output[], orders: OutputDirective[]): void {
  const texts = outputs.filter((output) => output.kind === 'text');
  let said = 0;
  for (const order of orders) {
    if (order.kind === 'say') said++;
    if (order.kind === 'cite') texts[Math.max(0, said - 1)]?.cites.push({ url: order.url, title: order.title });
  }
}

function keepFirstCall(outputs: Output[]): Output[] {
  const first = outputs.find((output) => output.kind === 'call');
  return outputs.filter((output) => output.kind !== 'call' || output === first);
}
