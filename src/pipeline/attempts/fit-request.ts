import type { EndpointFacts, ModelReasoning } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import { efforts, isEffort } from '../../domain/items.ts';
import type { ReasoningSetting, ResponseRequest } from '../../domain/request.ts';
import { nearestEffort } from '../../providers/kit/effort.ts';
import { Needs, supports } from '../../routing/needs.ts';

/** Fields that an endpoint may not support, by their names in the catalog. */
const removable = {
  temperature: 'temperature',
  top_p: 'top_p',
  top_k: 'top_k',
  frequency_penalty: 'frequency_penalty',
  presence_penalty: 'presence_penalty',
  top_logprobs: 'top_logprobs',
  parallel_tool_calls: 'parallel_tool_calls',
  logit_bias: 'logit_bias',
  logprobs: 'logprobs',
  min_p: 'min_p',
  prediction: 'prediction',
  repetition_penalty: 'repetition_penalty',
  seed: 'seed',
  stop: 'stop',
  top_a: 'top_a',
  reasoning: 'reasoning',
  tool_choice: 'tool_choice',
  tools: 'tools',
} as const satisfies Partial<Record<keyof ResponseRequest, string>>;
const removableFields = Object.entries(removable) as [keyof typeof removable, string][]; // the record's own entries

/**
 * Fits a request to an endpoint: removes the parameters that it is known not to accept, lowers the limit of the output to
 * its room, and sets its tier and an effort that its model supports.
 *
 * @param isAlias whether an alias named the model: reasoning that cannot be turned off then gets the lowest effort
 * @returns `request` itself if nothing changed, and the names of the omitted and changed fields
 * @throws {GatewayError} `invalid_request` if reasoning is turned off on a model that always reasons
 * @see docs/reference/routing.md#provider-preferences `require_parameters`, docs/reference/routing.md#service-tiers
 * @see docs/reference/routers.md#latest
 */
export function fitRequest(
  request: ResponseRequest,
  endpoint: EndpointFacts,
  isAlias: boolean,
): { request: ResponseRequest; changed: string[] } {
  const { parameters, tier, reasoning, capabilities } = endpoint;
  const { tools, structuredOutputs, reasoning: thinks } = capabilities;
  const isLimited = parameters !== undefined || tools === false || structuredOutputs === false || thinks === false;
  const limit = findLowerLimit(request, endpoint);
  if (!isLimited && tier === undefined && !reasoning && limit === undefined) return { request, changed: [] };
  const changed: string[] = [];
  let fitted = request;
  const change = (fields: Partial<ResponseRequest>, name: string): void => {
    fitted = { ...fitted, ...fields };
    changed.push(name);
  };
  if (isLimited) {
    for (const [field, name] of removableFields) {
      if (!isSent(request[field]) || supports(endpoint, name) !== false) continue;
      change({ [field]: undefined }, field);
    }
    // Without the choice, the model could still call them: choice 403.
    const isIgnored = request.tool_choice === 'none' && fitted.tool_choice === undefined;
    if (isIgnored && fitted.tools && fitted.tools.length > 0) change({ tools: [] }, 'tools');
    const { format, verbosity } = request.text ?? {};
    if (verbosity && supports(endpoint, 'verbosity') === false) {
      change({ text: { ...fitted.text, verbosity: null } }, 'text.verbosity');
    }
    const needed = format?.type === 'json_schema' ? 'structured_outputs' : 'response_format';
    if (format && format.type !== 'text' && supports(endpoint, needed) === false) {
      change({ text: { ...fitted.text, format: { type: 'text' } } }, 'text.format');
    }
  }
  if (limit !== undefined) {
    change({ max_output_tokens: limit }, `max_output_tokens (${request.max_output_tokens!} → ${limit})`);
  }
  const asked = request.service_tier;
  if (tier === 'flex' || tier === 'priority') {
    if (asked !== tier) fitted = { ...fitted, service_tier: tier };
  } else if (tier === 'default' && asked && asked !== 'default' && asked !== 'auto') {
    change({ service_tier: undefined }, `service_tier (${asked})`);
  }
  if (reasoning && fitted.reasoning) {
    const effort = fitEffort(fitted.reasoning, reasoning, isAlias, endpoint.model);
    if (effort) change({ reasoning: effort }, 'reasoning.effort');
  }
  return { request: fitted, changed };
}

/**
 * Returns the limit of the output that the model and the rest of its context have room for, if the request has a larger
 * one. A client that wants more means as much as there is.
 */
function findLowerLimit(request: ResponseRequest, endpoint: EndpointFacts): number | undefined {
  const { max_output_tokens: asked } = request;
  const { maxOutputTokens = Number.POSITIVE_INFINITY, contextLength } = endpoint;
  if (!asked) return undefined;
  let room = maxOutputTokens;
  if (contextLength !== undefined) {
    const needs = new Needs({ ...request, max_output_tokens: null });
    // Writing the tools to count them takes long, so it is left out where even many of them have room.
    if (asked + needs.inputTokens + MANY_TOOL_TOKENS > contextLength)
      room = Math.min(room, Math.max(contextLength - needs.requiredTokens, MIN_OUTPUT));
  }
  return asked > room ? room : undefined;
}

/** Tokens of all tools and media of a request that is far from the limit of its context. */
const MANY_TOOL_TOKENS = 64_000;
/** Tokens. The smallest limit of the output that all providers accept. The count of the input is an estimate. */
const MIN_OUTPUT = 16;

const isSent = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0) && value !== 'auto';

/** @returns undefined if it fits unchanged */
function fitEffort(
  asked: ReasoningSetting,
  { mandatory, supported_efforts: supported }: ModelReasoning,
  isAlias: boolean,
  model: string,
): ReasoningSetting | undefined {
  const known = supported && efforts.filter((effort) => supported.includes(effort));
  const isOff = asked.effort === 'none' || asked.enabled === false || asked.max_tokens === 0;
  if (isOff && mandatory) {
    if (!isAlias) {
      const message = `reasoning: ${model} cannot respond without reasoning; omit \`reasoning\` or request less of it.`;
      throw new GatewayError('invalid_request', message);
    }
    const { enabled: _, max_tokens: __, ...rest } = asked;
    return { ...rest, effort: known?.find((effort) => effort !== 'none') ?? 'low' };
  }
  const { effort } = asked;
  if (!effort || isOff || !known || known.length === 0) return undefined;
  if (!isEffort(effort) || known.includes(effort)) return undefined; // an unknown one is left here only on its native wire
  return { ...asked, effort: nearestEffort(effort, known) };
}
