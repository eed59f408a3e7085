import type { RouterMetadata } from '../../domain/router-metadata.ts';
import type { RerankRun } from '../../pipeline/run/retrieval-run.ts';
import { committedOf } from '../../pipeline/run/step.ts';
import { writeRetrievalUsage } from './write-usage.ts';

/** Writes the response to `POST /rerank`. @see docs/reference/rerank.md#response */
export function writeRerankResponse(
  run: RerankRun,
  routerMetadata: RouterMetadata | undefined,
): Record<string, unknown> {
  const { documents, returnsDocuments } = run.request;
  const { endpoint } = committedOf(run)!; // the run has succeeded
  const searches = run.usage?.special?.webSearches;
  return {
    id: run.generationId,
    object: 'list',
    model: endpoint.model,
    provider: endpoint.provider.name,
    results: run.result!.results.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(returnsDocuments && { document: { text: documents[index]! } }), // the wire has checked the index
    })),
    // Clients of Cohere read the billed units here.
    ...(searches !== undefined && { meta: { billed_units: { search_units: searches } } }),
    usage: writeRetrievalUsage(run),
    ...(routerMetadata && { router_metadata: routerMetadata }),
  };
}
