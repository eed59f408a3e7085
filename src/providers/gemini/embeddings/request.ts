import { readDataUrl } from '../../../domain/data-url.ts';
import type { EmbeddingCall, EmbeddingInputs, EmbeddingInputType, EmbeddingPart } from '../../../domain/embeddings.ts';
import { refuseBecause } from '../../kit/draft.ts';
import type { Target, UpstreamRequest } from '../../wire.ts';
import { pathOf } from '../path.ts';

/** Facts about a call that its reader needs. */
export interface ReaderContext {
  /** Number of inputs. */
  count: number;
}

const taskTypes: Record<EmbeddingInputType, string> = {
  search_query: 'RETRIEVAL_QUERY',
  search_document: 'RETRIEVAL_DOCUMENT',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
  semantic_similarity: 'SEMANTIC_SIMILARITY',
  question_answering: 'QUESTION_ANSWERING',
  fact_verification: 'FACT_VERIFICATION',
  code_retrieval_query: 'CODE_RETRIEVAL_QUERY',
};

/** Writes the body of `batchEmbedContents`: a request for each input. @see https://ai.google.dev/api/embeddings */
export function writeBatchEmbed(call: EmbeddingCall, target: Target): UpstreamRequest<ReaderContext> {
  const path = pathOf(target.upstreamModel);
  const shared = {
    model: path.startsWith('models/') ? `models/${target.upstreamModel.replace(/^models\//, '')}` : path,
    ...(call.inputType !== undefined && { taskType: taskTypes[call.inputType] }),
    ...(call.dimensions !== undefined && { outputDimensionality: call.dimensions }),
  };
  const contents = writeContents(call.input, target);
  return {
    path: `/${path}:batchEmbedContents`,
    body: { requests: contents.map((parts) => ({ ...shared, content: { parts } })) },
    dropped: [],
    readerContext: { count: contents.length },
  };
}

function writeContents(input: EmbeddingInputs, target: Target): object[][] {
  switch (input.kind) {
    case 'text':
      return input.items.map((text) => [{ text }]);
    case 'parts':
      return input.items.map((parts, at) => parts.map((part) => writePart(part, `input[${at}]`, target)));
    case 'tokens':
      throw refuseBecause('input', `${target.endpoint} does not support arrays of tokens. Send texts.`);
  }
}

function writePart(part: EmbeddingPart, place: string, { endpoint }: Target): object {
  if (part.type === 'text') return { text: part.text };
  const data = readDataUrl(part.image_url.url);
  if (data?.isBase64) return { inlineData: { mimeType: data.mediaType, data: data.data } };
  throw refuseBecause(place, `${endpoint} does not fetch images. Send the image as a data URL of base64.`);
}
