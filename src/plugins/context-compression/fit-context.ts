import { setImmediate as nextTurn } from 'node:timers/promises';
import { isSmallContext, mayShorten } from '../../domain/compression.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import { estimateTokens } from '../../domain/estimate-tokens.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { StageRecord } from '../../domain/router-metadata.ts';
import { type SlicedWork, WorkSlices } from '../../domain/work-slices.ts';
import type { PluginRun } from '../plugin.ts';
import { compressInput, measureInput } from './compress.ts';
import { sampleTexts } from './sample-texts.ts';

/**
 * Counts the tokens of texts with the tokenizer of a model.
 *
 * @returns undefined if the model has no known tokenizer, or the count takes too long
 */
export type CountTokens = (model: string, texts: readonly string[]) => Promise<number | undefined>;

/** Share of the context that stays free, because token counts are estimates. */
const SAFETY = 0.05;
/** Share of the context for the output, if the request sets no limit. */
const OUTPUT_SHARE = 0.25;
/** Share of the room from which on the tokenizer counts. Below it, the estimate cannot be that wrong. */
const NEAR = 0.8;

/** Fits the requests of one run to the contexts of its endpoints. */
export class ContextFitting {
  private readonly run: Pick<PluginRun, 'stages' | 'cancellation'>;
  private readonly isNamed: boolean;
  private readonly countTokens: CountTokens;
  /** The last stage as text: attempts that are shortened alike share one stage. */
  private reported = '';

  constructor(run: Pick<PluginRun, 'stages' | 'cancellation'>, isNamed: boolean, countTokens: CountTokens) {
    this.run = run;
    this.isNamed = isNamed;
    this.countTokens = countTokens;
  }

  /**
   * @returns the request itself if it fits, or if the context of the endpoint is unknown
   * @throws {GatewayError} `context_length_exceeded` if it does not fit without what may be removed
   */
  fit(request: ResponseRequest, endpoint: EndpointFacts): MaybePromise<ResponseRequest> {
    if (!mayShorten(endpoint) || (!this.isNamed && !isSmallContext(endpoint))) return request;
    return this.shorten(request, endpoint);
  }

  private async shorten(request: ResponseRequest, endpoint: EndpointFacts): Promise<ResponseRequest> {
    const { input } = request;
    const slices = new WorkSlices(nextTurn, this.run.cancellation);
    const fixed = await slices.run(measureFixed(request));
    const measured = await slices.run(measureInput(input));
    const [budget, most] = readBudgets(request, endpoint);
    const isNear = measured.total + fixed >= budget * NEAR;
    const scale = isNear ? await this.findScale(await slices.run(sampleTexts(input)), endpoint) : 1;
    const room = { tokens: budget - fixed * scale, items: endpoint.maxMessages, scale, cutsPrompt: this.isNamed };
    let outcome = await slices.run(compressInput(input, measured, room));
    if (outcome.type === 'too_long' && most > budget) {
      outcome = await slices.run(compressInput(input, measured, { ...room, tokens: most - fixed * scale }));
    }
    // the provider's own way of truncating would be a second one
    const { truncation: _, ...rest } = request;
    switch (outcome.type) {
      case 'fits':
        return rest;
      case 'too_long': {
        const needed = outcome.tokens + fixed * scale;
        if (!this.isNamed && needed * CERTAIN <= (endpoint.contextLength ?? most)) return request; // it may fit
        throw tooLong(endpoint, Math.ceil(needed), Math.floor(most));
      }
      case 'compressed':
        this.report(input.length, outcome.input.length, {
          original_tokens: Math.round(outcome.originalTokens + fixed * scale),
          compressed_tokens: Math.round(outcome.tokens + fixed * scale),
          cut_messages: outcome.cut,
        });
        return { ...rest, input: outcome.input };
    }
  }

  /** Returns the real tokens per estimated token of texts. */
  private async findScale(texts: readonly string[], { model }: EndpointFacts): Promise<number> {
    const expected = texts.reduce((sum, text) => sum + estimateTokens([text]), 0);
    const counted = expected > 0 ? await this.countTokens(model, texts) : undefined;
    return counted === undefined ? 1 : Math.min(MAX_SCALE, Math.max(1 / MAX_SCALE, counted / expected));
  }

  private report(originalCount: number, compressedCount: number, more: Record<string, unknown>): void {
    const stage: StageRecord = {
      type: 'context_compression',
      name: 'context-compression',
      summary: 'The middle of the input was removed, because the input was too long for the model.',
      data: {
        engine: 'middle-out',
        input_type: originalCount === 1 ? 'prompt' : 'messages',
        original_count: originalCount,
        compressed_count: compressedCount,
        ...more,
      },
    };
    const text = JSON.stringify(stage);
    if (text === this.reported) return;
    this.reported = text;
    this.run.stages.push(stage);
  }
}

/** Share of the estimate that an input has at least. @see docs/reference/choices.md, choice 112 */
const CERTAIN = 0.6;

/** A tokenizer and the estimate do not differ by more than this factor. */
const MAX_SCALE = 3;

/**
 * Returns the tokens for the input, the instructions and the tools.
 *
 * @returns how many there should be, and how many there may be if that is too little
 */
function readBudgets({ max_output_tokens: wanted }: ResponseRequest, endpoint: EndpointFacts): [number, number] {
  const { contextLength, maxPromptTokens = Number.POSITIVE_INFINITY, maxOutputTokens } = endpoint;
  const prompt = maxPromptTokens * (1 - SAFETY);
  if (contextLength === undefined) return [prompt, prompt];
  const safe = contextLength * (1 - SAFETY);
  const usual = Math.min(maxOutputTokens ?? Number.POSITIVE_INFINITY, contextLength * OUTPUT_SHARE);
  return [Math.min(prompt, safe - (wanted ?? usual)), Math.min(prompt, safe - (wanted ?? 0))];
}

/** Estimates the tokens of everything besides the input. */
function* measureFixed({ instructions, tools, text }: ResponseRequest): SlicedWork<number> {
  let tokens = 0;
  if (instructions) tokens += estimateTokens([instructions]);
  for (const each of [...(tools ?? []), ...(text?.format ? [text.format] : [])]) {
    const written = JSON.stringify(each);
    tokens += estimateTokens([written]);
    yield 1 + written.length / CHARACTERS_PER_WORK;
  }
  return tokens;
}

/** Characters of JSON that cost one unit of work to write and to estimate. */
const CHARACTERS_PER_WORK = 80;

const tooLong = ({ model, provider }: EndpointFacts, needed: number, free: number): GatewayError =>
  new GatewayError(
    'context_length_exceeded',
    `The input is too long for ${model} at ${provider.name}, even without its middle. The instructions, the tools and the last message of the user have about ${needed} tokens, and ${Math.max(0, free)} are available. Shorten it, or lower max_output_tokens.`,
    { retryable: true },
  );
