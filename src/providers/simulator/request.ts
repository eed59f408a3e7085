import { placesOf } from '../../domain/input-places.ts';
import { GatewayError } from '../../domain/errors.ts';
import {
  type InputItem,
  isKnownItem,
  isKnownPart,
  isProviderRun,
  partHolders,
  type Tool,
  toolTypes,
} from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import type { ReasoningSetting, ResponseRequest } from '../../domain/request.ts';
import { type Draft, dropInclude, dropRest, refuseKind, sendTheItem, shellTools } from '../kit/draft.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import type { SimulatorRequest } from './wire.ts';

/** Fields that are written below. Every other field that reaches the wire is added to `dropped`. */
const writtenFields = new Set([
  'include',
  'input',
  'instructions',
  'logprobs',
  'max_output_tokens',
  'modalities',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
]);

/** Values of `include` with an effect, or that a response always contains. */
const included = new Set<string>(['message.output_text.logprobs', 'reasoning.encrypted_content']);

/**
 * Writes the request for the simulator.
 *
 * @throws {GatewayError} `invalid_request` for features that only real providers have
 */
export function writeRequest(request: ResponseRequest, target: Target): UpstreamRequest<undefined> {
  if (request.prompt) throw refuse('prompt', 'it keeps no prompt templates', target);
  const dropped: string[] = [];
  const draft: Draft = { target, format: 'simulator', dropped, adapted: new Set() };
  dropRest(draft, request, writtenFields);
  dropInclude(draft, request, included);
  if (request.modalities?.includes('image')) dropped.push('modalities');
  const tools = request.tools?.filter((tool, index) => {
    if (isClientTool(tool)) return true;
    const path = findToolPath(tool, index);
    if (!toolTypes.has(tool.type)) throw refuseKind(draft, path, 'tool', tool.type);
    const others = shellTools.has(tool.type) ? ', and no sandbox of the gateway can' : '';
    const reason = `it does not run the hosted tool ${tool.type}${others}`;
    if (!isProviderRun(tool)) throw refuse(path, reason, target);
    if (isForced(tool, request)) throw refuse('tool_choice', reason, target);
    dropped.push(`${path} (${tool.type})`);
    return false;
  });
  const places = placesOf(request.input);
  for (const [index, item] of request.input.entries()) {
    const path = `input[${places?.[index] ?? index}]`;
    if (item.type === 'item_reference') throw refuse(path, `nothing is stored: ${sendTheItem}`, target);
    checkKinds(draft, item, path);
  }
  const model = target.upstreamModel.replace(/^simulator\//, ''); // the name in an entry without `upstream_model`
  const body: SimulatorRequest = { model, input: request.input };
  if (target.stream) body.stream = true;
  if (request.instructions) body.instructions = request.instructions;
  if (tools) body.tools = tools;
  if (request.tool_choice) body.tool_choice = request.tool_choice;
  if (request.parallel_tool_calls != null) body.parallel_tool_calls = request.parallel_tool_calls;
  if (request.text?.format) body.format = request.text.format;
  const reasoning = readReasoning(request);
  if (reasoning) body.reasoning = reasoning;
  if (request.max_output_tokens != null) body.max_output_tokens = request.max_output_tokens;
  if (request.top_logprobs || request.logprobs || request.include?.includes('message.output_text.logprobs')) {
    const count = request.top_logprobs ?? 0;
    if (count < 0 || count > 20) throw refuse('top_logprobs', `tells 0 to 20 of them, not ${count}`, target);
    body.logprobs = count;
  }
  if (request.text?.verbosity != null) dropped.push('text.verbosity');
  return { path: '/answer', body: { ...body }, dropped, readerContext: undefined };
}

/** Tools that the simulator can call, because the client runs them. */
const isClientTool = (tool: Tool): boolean => ['function', 'custom', 'namespace'].includes(tool.type);

/** @throws {GatewayError} for an item or a part of an unknown kind, which is probably misspelled */
function checkKinds(draft: Draft, item: InputItem, place: string): void {
  if (!isKnownItem(item)) throw refuseKind(draft, place, 'item', item.type);
  const field = partHolders.get(item.type);
  const parts: unknown = field && (item as Record<string, unknown>)[field];
  for (const [index, part] of Array.isArray(parts) ? parts.entries() : []) {
    if (!isKnownPart(part)) throw refuseKind(draft, `${place}.${field}[${index}]`, 'part', part.type);
  }
}

/** Whether `tool_choice` names the tool, or requires a call although the client offers no tool. */
function isForced({ type }: Tool, { tool_choice: choice, tools = [] }: ResponseRequest): boolean {
  if (choice === 'required') return !tools.some(isClientTool);
  return typeof choice === 'object' && choice !== null && choice.type === type;
}

/**
 * Returns the effort. The last configuration update in the input replaces the request's.
 *
 * @see docs/reference/items.md#input-items
 */
function readReasoning({ reasoning, input }: ResponseRequest): ReasoningSetting | undefined {
  const update = input.findLast((item) => item.type === 'configuration_update');
  return update ? { ...reasoning, effort: update.reasoning.effort } : (reasoning ?? undefined);
}

function refuse(path: string, reason: string, target: Target): GatewayError {
  const message = `${target.endpoint} cannot take this, since it is the simulator and ${reason}.`;
  return new GatewayError('invalid_request', `${path}: ${message}`, { metadata: { issues: [{ path, message }] } });
}
