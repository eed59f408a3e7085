import type { Vector } from '../../domain/embeddings.ts';
import { GatewayError } from '../../domain/errors.ts';
import { parseUpstream } from '../../providers/kit/invalid-data.ts';
import { liftVectors, readLifted } from '../../providers/kit/lift-vectors.ts';
import type { WholeWire } from '../../providers/whole-wire.ts';
import type { ReadResponseOptions } from '../attempts/read-response.ts';
import type { RetrievalFinish } from '../run/retrieval-run.ts';

interface ReadingOptions {
  /** The display name of the provider, for messages. */
  name: string;
  /** Maximum bytes of all responses together. */
  limitBytes: number;
  hasVectors: boolean;
}

/** Reads the responses to the calls of one attempt. */
export class CallReading<Call, F extends RetrievalFinish> {
  private readonly wire: WholeWire<Call, F>;
  private readonly options: ReadingOptions;
  /** Bytes of all responses so far. */
  private received = 0;

  constructor(wire: WholeWire<Call, F>, options: ReadingOptions) {
    this.wire = wire;
    this.options = options;
  }

  /** Returns how the response to one call is read. */
  open(readerContext: unknown): ReadResponseOptions<F> {
    const { wire } = this;
    const { name, limitBytes, hasVectors } = this.options;
    let vectors: readonly Vector[] = [];
    let before = 0;
    return {
      wire: {
        createReader() {
          const message = `${name} sent a stream that was not requested.`;
          throw new GatewayError('upstream_failed', message, { retryable: true });
        },
        readWhole: (body, context) => [readLifted(vectors, () => wire.readWhole(body, context))],
      },
      readerContext,
      name,
      limitBytes,
      limitName: 'embeddings.answer_limit',
      isBuffered: true,
      onBuffered: (bytes) => {
        this.received += bytes - before;
        before = bytes;
        if (this.received <= limitBytes) return undefined;
        const message = `${name} sent more than ${limitBytes} bytes (embeddings.answer_limit).`;
        throw new GatewayError('upstream_failed', message, { retryable: true });
      },
      ...(hasVectors && {
        lift(pieces: readonly Buffer[]) {
          const lifted = liftVectors(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
          vectors = lifted.vectors;
          return lifted.json;
        },
      }),
    };
  }

  /** Reads a response of this process. */
  readBody(body: Buffer, readerContext: unknown): F {
    const { json, vectors } = this.options.hasVectors ? liftVectors(body) : { json: body, vectors: [] };
    return readLifted(vectors, () => this.wire.readWhole(parseUpstream(json.toString(), 'a body'), readerContext));
  }
}
