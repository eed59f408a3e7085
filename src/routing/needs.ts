import type { EndpointFacts, Special } from '../domain/endpoint.ts';
import { isSmallContext, mayShorten, tooLongAdvice } from '../domain/compression.ts';
import { estimateTokens } from '../domain/estimate-tokens.ts';
import { isGatewayMcp, isHosted } from '../domain/items.ts';
import { searchesStoredFiles } from '../domain/file-search.ts';
import { findSetting, type ResponseRequest, switchOf } from '../domain/request.ts';
import { blendedPrice } from '../metering/price.ts';
import type { Exclusion } from './exclusion.ts';
import { MAX_SPECIALS, type WalkedInput, walkInput } from './walk-input.ts';

/** The requirements of a request. Computed lazily: a long input is walked at most once. */
export class Needs {
  readonly maxOutputTokens: number | undefined;
  readonly hasTools: boolean;
  private readonly request: ResponseRequest;
  private walked: WalkedInput | undefined;
  private sent: readonly string[] | undefined;

  constructor(request: ResponseRequest) {
    this.request = request;
    this.maxOutputTokens = request.max_output_tokens ?? undefined;
    this.hasTools = request.tools !== undefined && request.tools.length > 0;
  }

  /** The input modalities besides text: `image`, `file`, `audio`, `video`. */
  get modalities(): ReadonlySet<string> {
    return this.walk().modalities;
  }

  /**
   * Whether the plugin `file-parser` makes text of the files for an endpoint that cannot read them. A file id has no
   * bytes here.
   *
   * @see docs/reference/plugins.md#file-parser
   */
  get parsesFiles(): boolean {
    const { modalities, hasFileIds } = this.walk();
    if (!modalities.has('file') || hasFileIds || switchOf(this.request, 'file-parser') === false) return false;
    const { engine } = (findSetting(this.request, 'file-parser')?.['pdf'] ?? {}) as { engine?: unknown };
    return engine !== 'native';
  }

  /** Estimated tokens of the text, including instructions, without tools, images and files. */
  get inputTokens(): number {
    const { instructions } = this.request;
    return this.walk().tokens + (instructions ? estimateTokens([instructions]) : 0);
  }

  /** Whether the input contains calls of tools that the gateway can run, or of MCP servers. */
  get hasServerItems(): boolean {
    return this.walk().hasServerItems;
  }

  /** Number of input images. */
  get images(): number {
    return this.walk().images;
  }

  /** Estimated tokens of the whole input, of the tools, and of the requested output. */
  get requiredTokens(): number {
    const { tools } = this.request;
    const toolTokens = tools && tools.length > 0 ? estimateTokens([JSON.stringify(tools)]) : 0;
    return Math.ceil(this.inputTokens + this.walk().mediaTokens + toolTokens + (this.maxOutputTokens ?? 0));
  }

  /**
   * Whether the plugin `context-compression` shortens an input that is too long for an endpoint. It does so by default
   * where the context is small. Only if a request turns it on does it cut an input of a single item.
   *
   * @see docs/reference/plugins.md#context-compression
   */
  shortens(endpoint: EndpointFacts): boolean {
    if (!isSmallContext(endpoint) && !this.request.plugins) return false;
    if (!mayShorten(endpoint)) return false;
    const named = switchOf(this.request, 'context-compression');
    return named ?? (isSmallContext(endpoint) && this.request.input.length > 1);
  }

  /** The remedy for an input that is too long for every endpoint. */
  get tooLongAdvice(): string {
    return tooLongAdvice;
  }

  /** A lower bound that holds for most tokenizers. @see docs/reference/choices.md, choice 112 */
  get minInputTokens(): number {
    const characters = this.walk().characters + (this.request.instructions?.length ?? 0);
    return Math.floor(Math.max(characters / 5, this.inputTokens * 0.6));
  }

  /** The required output modalities besides text. */
  get output(): readonly string[] {
    return this.request.modalities?.includes('image') ? ['image'] : [];
  }

  /** The request's parameters, with the names of `supported_parameters`. */
  get parameters(): readonly string[] {
    this.sent ??= listParameters(this.request);
    return this.sent;
  }

  /** Parameters that exclude an endpoint only if another endpoint supports them. */
  get softParameters(): readonly string[] {
    return this.parameters.filter((parameter) => softParameters.includes(parameter));
  }

  /**
   * Kinds of tools, items and parts that not every wire supports. Endpoints whose wires support them are preferred.
   */
  get specials(): readonly Special[] {
    const hosted = (this.request.tools ?? []).filter(
      (tool) => isHosted(tool) && !isGatewayMcp(tool) && !searchesStoredFiles(tool),
    );
    const tools = hosted.map(({ type }): Special => ({ what: 'tool', type }));
    return [...tools.slice(0, MAX_SPECIALS), ...this.walk().specials];
  }

  /** Excludes an endpoint that can never serve the request. */
  exclude({ generatesText, image, embedding, rerank }: EndpointFacts): Exclusion | undefined {
    if (generatesText) return undefined;
    const served = [
      ...(image || (!embedding && !rerank) ? ['generates only images, with POST /images'] : []),
      ...(embedding ? ['makes only embeddings, with POST /embeddings'] : []),
      ...(rerank ? ['only reranks documents, with POST /rerank'] : []),
    ];
    return { code: 'wrong_endpoint', reason: served.join(' and ') };
  }

  /** Whether the endpoint supports a parameter. Undefined if unknown. */
  takes(endpoint: EndpointFacts, parameter: string): boolean | undefined {
    return supports(endpoint, parameter);
  }

  /** Returns a price for comparisons. Undefined if unknown. */
  priceOf({ pricing }: EndpointFacts): number | undefined {
    return blendedPrice(pricing, pricing?.above ? this.minInputTokens : 0);
  }

  /** Whether the cost of the request at the endpoint is known. */
  isPriced({ pricing }: EndpointFacts): boolean {
    return pricing !== undefined;
  }

  private walk(): WalkedInput {
    this.walked ??= walkInput(this.request.input);
    return this.walked;
  }
}

const softParameters = ['tools', 'tool_choice', 'structured_outputs', 'response_format', 'verbosity'];

const plainParameters = [
  ...(['temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'top_logprobs'] as const),
  ...(['parallel_tool_calls', 'logit_bias', 'logprobs', 'min_p', 'prediction', 'repetition_penalty', 'seed'] as const),
  ...(['stop', 'top_a'] as const),
] as const;

function listParameters(request: ResponseRequest): string[] {
  const names: string[] = plainParameters.filter((name) => request[name] !== undefined && request[name] !== null);
  const { text, reasoning, tool_choice: choice } = request;
  if (request.max_output_tokens) names.push('max_tokens');
  if (request.tools && request.tools.length > 0) names.push('tools');
  if (choice !== undefined && choice !== 'auto') names.push('tool_choice');
  if (text?.format?.type === 'json_schema') names.push('structured_outputs');
  if (text?.format?.type === 'json_object') names.push('response_format');
  if (text?.verbosity) names.push('verbosity');
  if (reasoning && (reasoning.effort || reasoning.max_tokens || reasoning.enabled)) names.push('reasoning');
  return names;
}

/** The key of the operator's `capabilities` that covers a parameter. */
const capabilityOf: Readonly<Record<string, 'tools' | 'structuredOutputs' | 'reasoning'>> = {
  tools: 'tools',
  tool_choice: 'tools',
  parallel_tool_calls: 'tools',
  structured_outputs: 'structuredOutputs',
  reasoning: 'reasoning',
};

/** @returns undefined if unknown */
export function supports({ capabilities, parameters }: EndpointFacts, parameter: string): boolean | undefined {
  const capability = capabilityOf[parameter];
  const said = capability === undefined ? undefined : capabilities[capability];
  return said ?? (parameters === undefined ? undefined : parameters.has(parameter));
}
