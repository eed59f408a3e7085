import type { RouterMetadata } from '../../domain/router-metadata.ts';
import type { EmbeddingRun } from '../../pipeline/run/retrieval-run.ts';
import { committedOf } from '../../pipeline/run/step.ts';
import { writeRetrievalUsage } from '../rerank/write-usage.ts';

/**
 * Writes the response to `POST /embeddings`. The vectors are already JSON, so they are copied as bytes.
 *
 * @see docs/reference/embeddings.md#response
 */
export function writeEmbeddingsResponse(run: EmbeddingRun, routerMetadata: RouterMetadata | undefined): Buffer {
  const { endpoint } = committedOf(run)!; // the run has succeeded
  const { vectors } = run.result!;
  const [open, close] = run.request.format === 'base64' ? ['"', '"}'] : ['', '}'];
  const ending = Buffer.from(close);
  const pieces: Buffer[] = [];
  for (const [index, { bytes }] of vectors.entries()) {
    const before = index === 0 ? '{"object":"list","data":[' : ',';
    pieces.push(Buffer.from(`${before}{"object":"embedding","index":${index},"embedding":${open}`), bytes, ending);
  }
  const rest = {
    model: endpoint.model,
    id: run.generationId,
    provider: endpoint.provider.name,
    usage: writeRetrievalUsage(run),
    ...(routerMetadata && { router_metadata: routerMetadata }),
  };
  pieces.push(Buffer.from(`],${JSON.stringify(rest).slice(1)}`));
  return Buffer.concat(pieces);
}
