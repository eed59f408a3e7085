import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EmbeddingCall, VectorFormat } from '../domain/embeddings.ts';
import { type ErrorKind, GatewayError } from '../domain/errors.ts';
import { isCredible } from '../domain/usage.ts';
import { readRecording } from '../testing/replay.ts';
import { convertVector } from './kit/convert-vector.ts';
import { liftVectors, readLifted } from './kit/lift-vectors.ts';
import type { Target, Wire } from './wire.ts';

/** Facts about a wire that the recordings do not contain. */
export interface WholeContract {
  /** File name → kind of the error in it. A file with another ending is read as the response to a failed request. */
  errors: Record<string, ErrorKind>;
  /** File names of responses without usage. */
  uncounted?: readonly string[];
  /** Whether it takes arrays of tokens. Otherwise they are a 400. */
  takesTokens?: boolean;
}

const target: Target = { endpoint: 'acme/one at Acme', upstreamModel: 'one', stream: false, dialect: {} };
const texts = { kind: 'text', items: ['one', 'two'] } as const;
const call: EmbeddingCall = { input: texts, format: 'float', dimensions: undefined, inputType: undefined };
const ranking = { query: 'one', documents: ['a', 'b', 'c'], topN: undefined, maxTokensPerDocument: undefined };

/**
 * Tests the contract of wires of embeddings and of reranking on recordings: `*.embedding.http` answers two texts,
 * `*.rerank.http` three documents. A vector survives the change of its format. Errors have their kind.
 */
export function testWholeWire(wire: Wire, recordings: URL, contract: WholeContract): void {
  const folder = new URL(recordings.href.replace(/\/?$/, '/'));
  const files = readdirSync(folder).filter((file) => file.endsWith('.http'));
  const read = (file: string) => readRecording(new URL(file, folder));
  const { embedding, rerank } = wire;
  const format = (file: string): VectorFormat => (file.startsWith('base64') ? 'base64' : 'float');
  const readVectors = (file: string) => {
    const { readerContext } = embedding!.writeRequest({ ...call, format: format(file) }, target);
    const { json, vectors } = liftVectors(read(file).body);
    return readLifted(vectors, () => embedding!.readWhole(JSON.parse(json.toString()), readerContext));
  };
  const readScores = (file: string) =>
    rerank!.readWhole(JSON.parse(read(file).body.toString()), rerank!.writeRequest(ranking, target).readerContext);
  const isSound = (file: string): boolean => contract.errors[file] === undefined;
  const embeddings = files.filter((file) => file.endsWith('.embedding.http') && isSound(file));
  const reranks = files.filter((file) => file.endsWith('.rerank.http') && isSound(file));
  const isCounted = (file: string): boolean => !contract.uncounted?.includes(file);

  describe(`the contract of whole wires: ${wire.id}`, () => {
    it('names in its contract only recordings that are there', () => {
      expect(files).toEqual(expect.arrayContaining([...Object.keys(contract.errors), ...(contract.uncounted ?? [])]));
      expect(embeddings.length > 0).toBe(embedding !== undefined);
      expect(reranks.length > 0).toBe(rerank !== undefined);
    });

    it.each(embeddings)('%s has a vector for each input', (file) => {
      const { vectors, usage } = readVectors(file);

      expect(vectors).toHaveLength(2);
      for (const vector of vectors) {
        expect(vector.format).toBe(format(file));
        expect(vector.length).toBe(vectors[0]!.length);
        const encoded = convertVector(vector, 'base64');
        const numbers = JSON.parse(convertVector(encoded, 'float').bytes.toString()) as number[];
        expect(numbers).toHaveLength(vector.length);
        if (vector.format === 'float') expect(numbers).toEqual(JSON.parse(vector.bytes.toString()));
        else expect(encoded).toBe(vector);
      }
      expect(vectors[0]!.bytes.equals(vectors[1]!.bytes)).toBe(false);
      expect(usage !== undefined && isCredible(usage) && usage.inputTokens > 0).toBe(isCounted(file));
    });

    it.each(reranks)('%s has a score for each document, the highest first', (file) => {
      const { results, usage } = readScores(file);

      expect(results.map(({ index }) => index)).toEqual([1, 2, 0]);
      expect(results.map(({ score }) => score)).toEqual(results.map(({ score }) => score).sort((a, b) => b - a));
      expect(usage !== undefined && isCredible(usage)).toBe(isCounted(file));
    });

    it.each(Object.entries(contract.errors))('%s is the error %s', (file, kind) => {
      expect(
        thrown(() => {
          if (file.endsWith('.embedding.http')) return readVectors(file);
          if (file.endsWith('.rerank.http')) return readScores(file);
          const { status, headers, body } = read(file);
          throw wire.readError({ status, headers, body: JSON.parse(body.toString()) });
        }),
      ).toMatchObject({ kind });
    });

    it.runIf(embedding)('takes arrays of tokens, or says that it does not', () => {
      const tokens = { ...call, input: { kind: 'tokens', items: [[1, 2]] } } as const;
      const write = () => embedding!.writeRequest(tokens, target).body;

      expect(embedding!.facts.takesTokens).toBe(contract.takesTokens === true);
      if (contract.takesTokens) expect(write()).toMatchObject({ input: [[1, 2]] });
      else expect(thrown(write)).toMatchObject({ kind: 'invalid_request', retryable: true });
    });
  });
}

/** The pipeline reports any error of a reader as a failure of the provider. */
function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof GatewayError ? error : new GatewayError('upstream_failed', String(error));
  }
  return undefined;
}
