import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { simulateResponse } from './answer.ts';
import { createReader, readWhole } from './chunks.ts';
import { readError } from './errors.ts';
import { simulatorImages } from './images.ts';
import { writeRequest } from './request.ts';
import { simulatorEmbedding, simulatorRerank } from './retrieval.ts';

/**
 * A provider inside this process. The same request always gets the same response. Directives in the prompt can produce
 * any behavior of a provider, including failures.
 *
 * @see docs/reference/simulator.md
 */
export const simulator = {
  id: 'simulator',
  authorize: () => ({}),
  readError,
  text: defineTextWire<undefined>({
    writeRequest,
    createReader,
    readWhole,
    send: simulateResponse,
  }),
  image: simulatorImages,
  embedding: simulatorEmbedding,
  rerank: simulatorRerank,
} satisfies Wire;
