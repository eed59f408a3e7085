import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { simulateResponse } from './answer.ts';
import { createReader, readWhole } from './chunks.ts';
import { readError } from './errors.ts';
import { simulatorImages } from './images.ts';
import { writeRequest } from './request.ts';

/**
 * A provider inside this process: the same request always gets the same response, and the prompt can ask for anything
 * that a provider may do, failures included.
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
} satisfies Wire;
