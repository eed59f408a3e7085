import { defineImageWire } from '../image-wire.ts';
import { pollDialectReader } from '../kit/poll-dialect.ts';
import { readWholeImage } from './chunks.ts';
import { readError } from './errors.ts';
import { findFamily, defaultFamily } from './families.ts';
import { type ReaderContext, writeImageRequest } from './request.ts';
import type { Wire } from '../wire.ts';

const readDialect = pollDialectReader('fal');

/**
 * `POST {base_url}/<model>`: the queue of fal, which hosts models of many authors. The response has one URL for the
 * status and one for the result. The result has the URLs of the images.
 *
 * @see https://fal.ai/docs/api-reference/inference-api
 */
export const fal = {
  id: 'fal',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Key ${apiKey}` }),
  readError,
  image: defineImageWire<ReaderContext>({
    facts: defaultFamily.facts,
    factsOf: (upstreamModel) => findFamily(upstreamModel).facts,
    pollHosts: ['.fal.run'],
    writeRequest: (request, target) => writeImageRequest(request, target, readDialect(target.dialect)),
    readWhole: readWholeImage,
  }),
} satisfies Wire;
