import type { EmbeddingRequest } from '../domain/embeddings.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { RerankFinish, RerankRequest } from '../domain/rerank.ts';
import type { EndedRun } from './content-log.ts';

/** The fields of an ended run that the log needs. */
interface Ended<Q> extends Pick<EndedRun, 'caller' | 'origin' | 'generationId' | 'startedAtMs'> {
  readonly request: Q;
  readonly error: GatewayError | undefined;
}

/** Describes embeddings in the terms of a response: a message with each input as a part. Vectors are not kept. */
export function describeEmbedding(run: Ended<EmbeddingRequest>): EndedRun {
  const { input, session_id } = run.request;
  const readContent = (): object[] => {
    switch (input.kind) {
      case 'text':
        return input.items.map(writeText);
      case 'tokens':
        return input.items.map(({ length }) => writeText(`${length} tokens`));
      case 'parts':
        return input.items.flatMap((parts) =>
          parts.map((part) => (part.type === 'text' ? writeText(part.text) : { type: 'input_image' })),
        );
    }
  };
  return describe(run, session_id, () => [{ type: 'message', role: 'user', content: readContent() }], []);
}

/** Describes a rerank: messages with the query and the documents, and the scores as output. */
export function describeRerank(run: Ended<RerankRequest> & { readonly result: RerankFinish | undefined }): EndedRun {
  const { query, documents, session_id } = run.request;
  const readItems = () => [
    { type: 'message', role: 'user', content: [writeText(query)] },
    { type: 'message', role: 'user', content: documents.map(writeText) },
  ];
  const output = run.result ? [{ type: 'rerank', results: run.result.results }] : [];
  return describe(run, session_id, readItems, output);
}

const writeText = (text: string) => ({ type: 'input_text', text });

const describe = <Q>(
  run: Ended<Q>,
  sessionId: string | undefined,
  readItems: () => object[],
  output: { type: string }[],
): EndedRun => ({
  ...run,
  request: sessionId === undefined ? {} : { session_id: sessionId },
  input: { readGiven: readItems, bytes: undefined, park() {} },
  builder: { output },
});
