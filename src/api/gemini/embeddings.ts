import type { Route } from '../../http/routes.ts';
import type { EmbeddingRun } from '../../pipeline/run/retrieval-run.ts';
import { readGeminiEmbedding } from '../../requests/gemini/embeddings.ts';
import { createEmbeddingsHandler, type EmbeddingsParts } from '../embeddings/handler.ts';
import { writeRetrievalUsage } from '../rerank/write-usage.ts';
import { type ReadCatalog, readGeminiPath } from './target.ts';

/** Fields of `POST /embeddings` in messages → those of the format. */
const rename = (text: string): string =>
  text
    .replace(/\binput\[(\d+)\]/g, 'requests[$1]')
    .replaceAll('`input`', '`requests`')
    .replace(/^input(?=:|$)/, 'requests');

/** `models/{model}:embedContent` and `models/{model}:batchEmbedContents`. */
export const createGeminiEmbedHandler = (
  parts: EmbeddingsParts,
  catalog: ReadCatalog,
  isBatch: boolean,
): Route['handler'] =>
  createEmbeddingsHandler(parts, {
    read: (request, hints) =>
      readGeminiEmbedding(request.body, { model: readGeminiPath(request, catalog).model, isBatch }, hints),
    write: (run, metadata) => writeVectors(run, metadata, isBatch),
    rename,
  });

/** Writes the vectors. They are already JSON, so they are copied as bytes. */
function writeVectors(run: EmbeddingRun, metadata: object | undefined, isBatch: boolean): Buffer {
  const pieces: Buffer[] = [Buffer.from(isBatch ? '{"embeddings":[' : '{"embedding":')];
  for (const [index, { bytes }] of run.result!.vectors.entries()) {
    pieces.push(Buffer.from(`${index === 0 ? '' : ','}{"values":`), bytes, Buffer.from('}')); // the run has succeeded
  }
  const rest = {
    usageMetadata: writeUsage(writeRetrievalUsage(run)),
    ...(metadata && { router_metadata: metadata }),
  };
  pieces.push(Buffer.from(`${isBatch ? ']' : ''},${JSON.stringify(rest).slice(1)}`));
  return Buffer.concat(pieces);
}

const writeUsage = ({ prompt_tokens: tokens, cost, is_byok: isByok }: Record<string, unknown>): object => ({
  promptTokenCount: tokens,
  totalTokenCount: tokens,
  ...(cost !== undefined && { cost }),
  is_byok: isByok,
});
