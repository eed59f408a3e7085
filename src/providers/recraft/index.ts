import { defineImageWire } from '../image-wire.ts';
import { readWholeImage } from './chunks.ts';
import { readError } from './errors.ts';
import { readImageFacts } from './facts.ts';
import { writeImageRequest } from './request.ts';
import type { Wire } from '../wire.ts';

/**
 * `POST {base_url}/images/generations` and `/images/imageToImage`: the API of Recraft, whose vector models draw SVG.
 *
 * @see https://www.recraft.ai/docs/api-reference
 */
export const recraft = {
  id: 'recraft',
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError,
  image: defineImageWire<undefined>({
    facts: readImageFacts('recraftv4_1'),
    factsOf: readImageFacts,
    writeRequest: writeImageRequest,
    readWhole: readWholeImage,
  }),
} satisfies Wire;
