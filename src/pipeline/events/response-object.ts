import { type FinishChunk, isIncomplete } from '../../domain/chunks.ts';
import type { GatewayError } from '../../domain/errors.ts';
import { responseErrorCode } from '../../domain/errors.ts';
import {
  type FunctionTool,
  hideMcpSecrets,
  mayNameServer,
  isServerTool,
  nameFunction,
  type OutputItem,
  type Tool,
  type ToolChoice,
} from '../../domain/items.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { ResponseObject } from '../../domain/response.ts';
import type { RouterMetadata } from '../../domain/router-metadata.ts';
import type { WireUsage } from '../../domain/usage.ts';

/**
 * Creates the response object as it is before the first output: every key of its table, with the settings of the
 * request or their defaults, and null where there is nothing.
 *
 * @param createdAt Unix seconds
 * @param model the slug of the model that responds, not the alias that was sent
 * @see docs/reference/responses.md#result
 */
export function createResponseObject(
  request: RequestSettings,
  id: string,
  createdAt: number,
  model: string,
): ResponseObject {
  const reasoning = request.reasoning;
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model,
    output: [],
    usage: null,
    instructions: request.instructions ?? null,
    metadata: request.metadata ?? null,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    tool_choice: showChoice(request.tool_choice ?? 'auto'),
    // The interface gives the echo a type that has no server tools, so they are omitted.
    tools: request.tools?.filter((tool) => !isServerTool(tool)).map(showTool) ?? [],
    background: false,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    previous_response_id: null,
    prompt: request.prompt ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(request.prompt_cache_options && { prompt_cache_options: request.prompt_cache_options }),
    reasoning: reasoning
      ? {
          context: reasoning.context ?? null,
          effort: reasoning.effort ?? null,
          ...(reasoning.mode && { mode: reasoning.mode }),
          summary: reasoning.summary ?? null,
        }
      : null,
    safety_identifier: request.safety_identifier ?? null,
    service_tier: request.service_tier ?? 'auto',
    store: false,
    text: { format: plainText, ...request.text },
    top_logprobs: request.top_logprobs ?? 0,
    truncation: request.truncation ?? 'disabled',
    user: request.user ?? null,
    access_programs: null,
  };
}

/** The interface gives the echo no server tools: it shows the function that the model sees. */
const showChoice = (choice: ToolChoice): ToolChoice =>
  typeof choice === 'object' && isServerTool(choice) ? { type: 'function', name: nameFunction(choice.type) } : choice;

const plainText = { type: 'text' } as const;

/**
 * Writes a function with all fields of its type, because clients that validate responses strictly require them. Omits
 * the secrets of a server that the provider calls.
 */
function showTool(tool: Tool): Tool {
  if (tool.type !== 'function') return mayNameServer(tool) ? hideMcpSecrets(tool) : tool;
  const { description, parameters, strict } = tool as FunctionTool;
  if (description !== undefined && parameters !== undefined && strict !== undefined) return tool;
  return {
    ...(tool as FunctionTool),
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}

/** The fields that the end of a run adds to the response object. */
export interface Ending {
  output: OutputItem[];
  /** The tier that was used; null if it is unknown. */
  serviceTier: string | null;
  usage: WireUsage | null;
  routerMetadata: RouterMetadata | undefined;
}

/** The response object after the provider's regular end. @param now Unix seconds */
export function finishResponse(base: ResponseObject, finish: FinishChunk, ending: Ending, now: number): ResponseObject {
  const cut = isIncomplete(finish);
  // A spread after another property copies key by key, ten times slower than a clone.
  const response: ResponseObject = finish.fields ? { ...finish.fields, ...base } : { ...base };
  response.access_programs = finish.fields?.['access_programs'] ?? null;
  response.status = cut ? 'incomplete' : 'completed';
  response.completed_at = cut ? null : now;
  if (cut) {
    response.incomplete_details = { reason: finish.reason === 'length' ? 'max_output_tokens' : 'content_filter' };
  }
  if (finish.settings) Object.assign(response, finish.settings);
  response.service_tier = ending.serviceTier;
  return Object.assign(response, endingFields(ending));
}

/** The response object of a run that failed after its first output. */
export function failResponse(base: ResponseObject, error: GatewayError, ending: Ending): ResponseObject {
  const shown: NonNullable<ResponseObject['error']> = {
    code: responseErrorCode(error.errorType),
    message: error.message,
  };
  if (error.availability) shown['availability'] = error.availability;
  const failed: ResponseObject = { ...base, status: 'failed', error: shown, error_type: error.errorType };
  if (error.incompleteReason) failed.incomplete_details = { reason: error.incompleteReason };
  return Object.assign(failed, endingFields(ending));
}

function endingFields({ output, usage, routerMetadata }: Ending) {
  return routerMetadata ? { output, usage, router_metadata: routerMetadata } : { output, usage };
}
