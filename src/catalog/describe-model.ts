import type { Model, Pricing } from '../domain/endpoint.ts';
import { perMillionTokens, perPiece, readPricesAbove, readTokenPrices } from '../metering/price.ts';
import type { EndpointRecord, ModelRecord } from './records.ts';

const isOver = ({ expiration_date: end }: ModelRecord): boolean => end !== undefined && Date.parse(end) <= Date.now();

/**
 * Creates the model of a record. It is hidden after its end date. Unknown fields are empty. An unknown date is
 * 1970 and not in the slug, so that any other is newer.
 */
export function describeModel(record: ModelRecord): Model {
  const { id, created } = record;
  return {
    id,
    canonicalSlug: record.canonical_slug ?? (created === undefined ? id : `${id}-${created.replaceAll('-', '')}`),
    name: record.name ?? id,
    created: created === undefined ? 0 : Math.floor(Date.parse(created) / 1000),
    contextLength: record.context_length,
    maxOutputTokens: record.max_output_tokens,
    input: record.input ?? ['text'],
    output: record.output ?? ['text'],
    parameters: record.parameters ?? [],
    ...(record.description === undefined ? undefined : { description: record.description }),
    ...(record.reasoning === undefined ? undefined : { reasoning: record.reasoning }),
    ...(record.knowledge_cutoff === undefined ? undefined : { knowledgeCutoff: record.knowledge_cutoff }),
    ...(record.expiration_date === undefined ? undefined : { expirationDate: record.expiration_date }),
    ...(record.hugging_face_id === undefined ? undefined : { huggingFaceId: record.hugging_face_id }),
    ...(record.distillable === undefined ? undefined : { distillable: record.distillable }),
    ...(record.coding_score === undefined ? undefined : { codingScore: record.coding_score }),
    ...(record.simulated === undefined ? undefined : { simulated: record.simulated }),
    ...(record.hidden || isOver(record) ? { hidden: true } : undefined),
  };
}

/** @returns undefined if one of the two main prices is unknown: responses then have no price */
export function readRecordPrices(record: EndpointRecord): Pricing | undefined {
  const { prompt, completion } = record.usd_per_million ?? {};
  if (prompt === undefined || completion === undefined) return undefined;
  const pricing: Pricing = {
    ...readTokenPrices(record.usd_per_million!, perMillionTokens),
    promptNanoUsdPerMillion: perMillionTokens(prompt),
    completionNanoUsdPerMillion: perMillionTokens(completion),
  };
  if (record.usd_per_request !== undefined) pricing.requestNanoUsd = perPiece(record.usd_per_request);
  if (record.usd_per_image !== undefined) pricing.imageNanoUsd = perPiece(record.usd_per_image);
  if (record.usd_per_search !== undefined) pricing.webSearchNanoUsd = perPiece(record.usd_per_search);
  if (record.usd_per_searched_request !== undefined) {
    pricing.searchedRequestNanoUsd = perPiece(record.usd_per_searched_request);
  }
  if (record.above) pricing.above = readPricesAbove(record.above, perMillionTokens);
  return pricing;
}
