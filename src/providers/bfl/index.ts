import { defineImageWire } from '../image-wire.ts';
import { pollDialectReader } from '../kit/poll-dialect.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { readWholeImage } from './chunks.ts';
import { findFamily, newestFamily } from './families.ts';
import { type ReaderContext, writeImageRequest } from './request.ts';
import type { Wire } from '../wire.ts';

const readDialect = pollDialectReader('bfl');

/**
 * `POST {base_url}/<model>`: the API of Black Forest Labs, the makers of FLUX. It returns a URL to poll, and finally
 * the URL of the image.
 *
 * @see https://docs.bfl.ai
 */
export const bfl = {
  id: 'bfl',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ 'x-key': apiKey }),
  readError: readUpstreamError,
  image: defineImageWire<ReaderContext>({
    facts: newestFamily.facts,
    factsOf: (upstreamModel) => findFamily(upstreamModel).facts,
    // Its global host returns the host of the region that generates the image: `api.us1.bfl.ai`.
    pollHosts: ['.bfl.ai'],
    writeRequest: (request, target) => writeImageRequest(request, target, readDialect(target.dialect)),
    readWhole: readWholeImage,
  }),
} satisfies Wire;
