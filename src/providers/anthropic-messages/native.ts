import type { NativeRequest } from '../../domain/native.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { isSet } from '../kit/draft.ts';
import type { EndpointTraits } from './dialect.ts';
import { interleaved, type MessagesDraft } from './parts.ts';

type Body = Record<string, unknown>;

/**
 * Adds what a client of the same format has sent, unchanged: fields that the request of the gateway cannot express, and
 * the original of those that it can, unless a stage of the gateway has changed them.
 *
 * @see docs/reference/messages.md#the-native-wire
 */
export function writeNative(
  draft: MessagesDraft,
  body: Body,
  request: ResponseRequest,
  { fields, betas, replaces }: NativeRequest,
  traits: EndpointTraits,
): void {
  addBetas(draft, betas);
  const { thinking, output_config: output, output_format: format, ...rest } = fields;
  for (const [name, value] of Object.entries(rest)) if (!(name in body)) body[name] = value;
  const keepsReasoning = request.reasoning === replaces.reasoning;
  const keepsText = request.text === replaces.text;
  const { display } = (thinking ?? {}) as { display?: unknown }; // checked by the schema
  if (!keepsReasoning || !isServed(thinking, traits) || exceedsLimit(draft, body, thinking)) {
    // The format has a summary unless the client says otherwise, so its loss is reported only for a client that says it.
    if (display === undefined) draft.dropped = draft.dropped.filter((name) => !name.startsWith('reasoning.summary'));
    if (display && isThinking(body.thinking)) body.thinking = { ...(body.thinking as object), display };
    else if (display) draft.dropped.push('thinking.display');
  } else {
    if (thinking === undefined) delete body.thinking;
    else body.thinking = thinking;
    draft.dropped = draft.dropped.filter((name) => !name.startsWith('reasoning'));
  }
  if (keepsText && format !== undefined) body.output_format = format;
  if (keepsReasoning && keepsText) {
    const isGiven = isServed(thinking, traits);
    const isPlanned = !isGiven && (isBudget(thinking) || isOff(thinking));
    const config = { ...(isPlanned && (body.output_config as object)), ...(output as object) };
    const isSwitch = traits.thinking === 'adaptive' || traits.thinking === 'enabled';
    const lacksEffort = traits.efforts.length === 0 && (isSwitch || !isGiven);
    const isDropped = lacksEffort && dropEffort(draft, body, config);
    if (Object.keys(config).length === 0 && (output === undefined || isDropped)) delete body.output_config;
    else body.output_config = config;
  }
}

/** Adds the features that a client names, unless the server refuses them. */
export function addBetas({ dialect, betas, dropped }: MessagesDraft, named: readonly string[]): void {
  const refused = dialect.client_betas?.without ?? [];
  const isRefused = (beta: string): boolean => refused.includes(beta) || refused.includes('*');
  for (const beta of named) {
    if (dialect.forward_betas && !isRefused(beta)) betas.add(beta);
    else dropped.push(`anthropic-beta (${beta})`);
  }
}

/** Whether a budget is not below the limit of the output, which contains the thinking. */
function exceedsLimit({ betas }: MessagesDraft, { max_tokens: limit }: Body, thinking: unknown): boolean {
  const { budget_tokens: budget } = (thinking ?? {}) as { budget_tokens?: number }; // checked by the schema
  return budget !== undefined && typeof limit === 'number' && budget >= limit && !betas.has(interleaved);
}

/**
 * Leaves out an effort, which a model without levels rejects. It is reported unless it has become the budget.
 *
 * @returns whether there was one
 */
function dropEffort({ dropped }: MessagesDraft, body: Body, config: { effort?: unknown }): boolean {
  const { effort } = config;
  delete config.effort;
  if (effort === undefined || effort === null) return false;
  const isReported = dropped.some((name) => name.startsWith('reasoning'));
  if (!isReported && !isBudget(body.thinking)) dropped.push('output_config.effort');
  return true;
}

const typeOf = (thinking: unknown) => (thinking as { type?: string } | undefined)?.type;
const isThinking = (thinking: unknown): boolean => isBudget(thinking) || typeOf(thinking) === 'adaptive';
const isBudget = (thinking: unknown): boolean => typeOf(thinking) === 'enabled';
const isOff = (thinking: unknown): boolean => typeOf(thinking) === 'disabled' || typeOf(thinking) === 'between_tools';

/**
 * A model that thinks with a budget rejects the adaptive setting, and newer ones reject a budget. They get the budget of the
 * same effort, and the effort of the same budget. Some cannot turn it off, or only in one way.
 */
function isServed(thinking: unknown, { thinking: kind, takesBudget, off }: EndpointTraits): boolean {
  if (isOff(thinking)) return typeOf(thinking) === off;
  if (kind === 'enabled') return thinking === undefined;
  return kind === 'adaptive' ? takesBudget === true || !isBudget(thinking) : typeOf(thinking) !== 'adaptive';
}

/** Writes the sampling settings of a client that knows the rules of the format. */
export function writeGivenSampling(body: Body, request: ResponseRequest): void {
  for (const name of ['temperature', 'top_p', 'top_k'] as const) if (isSet(request[name])) body[name] = request[name];
}
