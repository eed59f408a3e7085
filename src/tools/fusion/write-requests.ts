import type { Static } from 'typebox';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { GatewayTool, InputItem } from '../../domain/items.ts';
import type { RequestSettings, ResponseRequest } from '../../domain/request.ts';
import { createInnerSettings } from '../inner-model.ts';
import { analysisInstructions, fusionAnalysis, writeComparison } from './analysis.ts';
import type { PanelResponse } from './call-model.ts';
import type { fusionParameters } from './parameters.ts';

export type FusionParameters = Static<typeof fusionParameters>;

const DEFAULT_TOOL_CALLS = 4;
const DEFAULT_OUTPUT_TOKENS = 16_000;

/** Fields that all requests of a panel share. */
export interface PanelRequestParts {
  readonly parameters: FusionParameters;
  /** The settings of the request that the panel serves. */
  readonly outer: RequestSettings;
  /** Slug of the model that called the tool. */
  readonly outerModel: string;
  readonly model: string;
  readonly tools: readonly GatewayTool[];
  /** The endpoints of the model. */
  readonly endpoints: readonly EndpointFacts[];
}

/** Writes the request of a model of the panel. */
export const writeMemberRequest = (parts: PanelRequestParts, question: InputItem): ResponseRequest => ({
  ...writeCommon(parts),
  input: [question],
  ...(parts.parameters.temperature !== undefined && { temperature: parts.parameters.temperature }),
});

/** Writes the request of the analysis. @param question as text */
export const writeAnalysisRequest = (
  parts: PanelRequestParts,
  question: string,
  responses: readonly PanelResponse[],
): ResponseRequest => ({
  ...writeCommon(parts),
  instructions: analysisInstructions,
  input: [{ type: 'message', role: 'user', content: writeComparison(question, responses) }],
  temperature: 0,
  text: { format: { type: 'json_schema', name: 'analysis', schema: { ...fusionAnalysis }, strict: true } },
});

/** Streams, so that a response that is too long can be ended. */
function writeCommon({
  parameters,
  outer,
  outerModel,
  model,
  tools,
  endpoints,
}: PanelRequestParts): Omit<ResponseRequest, 'input'> {
  const { max_tool_calls: calls = DEFAULT_TOOL_CALLS, max_completion_tokens, reasoning, cache_control } = parameters;
  const settings = {
    max_completion_tokens: max_completion_tokens ?? findRoom(endpoints),
    ...(reasoning && { reasoning }),
  };
  return {
    ...createInnerSettings(settings, model, outer, outerModel),
    stream: true,
    ...(tools.length > 0 && { tools: [...tools], max_tool_calls: calls }),
    ...(cache_control && { cache_control }),
  };
}

/** Returns the default limit, or less if no endpoint has room for it. Half of a context is for the input. */
function findRoom(endpoints: readonly EndpointFacts[]): number {
  const rooms = endpoints.map(({ maxOutputTokens = Number.POSITIVE_INFINITY, contextLength }) =>
    Math.min(maxOutputTokens, contextLength === undefined ? Number.POSITIVE_INFINITY : Math.floor(contextLength / 2)),
  );
  return Math.max(1, Math.min(DEFAULT_OUTPUT_TOKENS, rooms.length > 0 ? Math.max(...rooms) : DEFAULT_OUTPUT_TOKENS));
}
