import { type EmbeddingRequest, estimateInputs } from '../domain/embeddings.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { estimateTokens } from '../domain/estimate-tokens.ts';
import { DOCUMENTS_OF_SEARCH, estimateRerank, type RerankRequest } from '../domain/rerank.ts';
import { usage } from '../domain/usage.ts';
import { costOf, totalOf } from '../metering/cost.ts';
import type { Exclusion } from './exclusion.ts';
import { Needs } from './needs.ts';

/** Requests without output tokens: embeddings and reranking. */
abstract class RetrievalNeeds extends Needs {
  constructor(model: string | undefined) {
    super({ input: [], ...(model !== undefined && { model }) });
  }

  override get parameters(): readonly string[] {
    return [];
  }

  override get tooLongAdvice(): string {
    return 'Split it into shorter texts.';
  }

  override takes(): undefined {
    return undefined;
  }

  /** For comparisons. On the scale of text prices, a request counts like a million tokens. */
  override priceOf(endpoint: EndpointFacts): number | undefined {
    return endpoint.pricing && Number(this.estimate(endpoint));
  }

  /** @returns nano-dollars; 0 if no price is known */
  abstract estimate(endpoint: EndpointFacts): bigint;
}

/** The requirements of embeddings. */
export class EmbeddingNeeds extends RetrievalNeeds {
  private readonly embedding: EmbeddingRequest;

  constructor(request: EmbeddingRequest) {
    super(request.model);
    this.embedding = request;
  }

  /** Tokens of all inputs together. */
  override get inputTokens(): number {
    return estimateInputs(this.embedding.input).reduce((sum, count) => sum + count, 0);
  }

  /** Tokens of the longest input, because each input has the whole context. */
  override get minInputTokens(): number {
    const { input } = this.embedding;
    if (input.kind === 'parts') return 0; // providers count images in their own ways
    const longest = estimateInputs(input).reduce((max, count) => Math.max(max, count), 0);
    return Math.floor(input.kind === 'tokens' ? longest : longest * 0.6);
  }

  override get modalities(): ReadonlySet<string> {
    const { input } = this.embedding;
    const hasImages = input.kind === 'parts' && input.items.some((parts) => parts.some(isImage));
    return hasImages ? images : none;
  }

  override get output(): readonly string[] {
    return ['embeddings'];
  }

  override exclude({ embedding }: EndpointFacts): Exclusion | undefined {
    if (!embedding) return { code: 'wrong_endpoint', reason: 'does not serve this model with POST /embeddings' };
    const { kind } = this.embedding.input;
    if (kind === 'tokens' && !embedding.takesTokens) {
      return { code: 'input', reason: 'does not support arrays of tokens; send texts' };
    }
    if (kind === 'parts' && !embedding.takesImages) {
      return { code: 'input', reason: 'does not support content parts; send texts' };
    }
    return undefined;
  }

  override estimate({ pricing }: EndpointFacts): bigint {
    return totalOf(costOf(pricing, usage({ inputTokens: Math.ceil(this.inputTokens), outputTokens: 0 })));
  }
}

/** The requirements of reranking. */
export class RerankNeeds extends RetrievalNeeds {
  private readonly rerank: RerankRequest;

  constructor(request: RerankRequest) {
    super(request.model);
    this.rerank = request;
  }

  override get inputTokens(): number {
    return estimateRerank(this.rerank);
  }

  /** Tokens of the query alone, because providers split or cut documents that are too long. */
  override get minInputTokens(): number {
    return Math.floor(estimateTokens([this.rerank.query]) * 0.6);
  }

  override get output(): readonly string[] {
    return ['rerank'];
  }

  override exclude({ rerank }: EndpointFacts): Exclusion | undefined {
    if (!rerank) return { code: 'wrong_endpoint', reason: 'does not serve this model with POST /rerank' };
    const { length } = this.rerank.documents;
    if (length <= rerank.maxBatch) return undefined;
    return {
      code: 'documents',
      reason: `supports at most ${rerank.maxBatch} documents, and the request has ${length}`,
    };
  }

  override estimate({ pricing }: EndpointFacts): bigint {
    const webSearches = Math.ceil(this.rerank.documents.length / DOCUMENTS_OF_SEARCH); // choice 629
    const inputTokens = Math.ceil(this.inputTokens);
    return totalOf(costOf(pricing, usage({ inputTokens, outputTokens: 0, special: { webSearches } })));
  }
}

const images: ReadonlySet<string> = new Set(['image']);
const none: ReadonlySet<string> = new Set();
const isImage = ({ type }: { type: string }): boolean => type === 'image_url';
