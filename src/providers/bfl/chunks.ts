import { GatewayError } from '../../domain/errors.ts';
import type { ImageChunk, ImageFinishChunk } from '../../domain/images.ts';
import { usage } from '../../domain/usage.ts';
import type { Poll } from '../image-wire.ts';
import { readUpstreamErrorObject } from '../errors/upstream-error.ts';
import type { ReaderContext } from './request.ts';
import { readResponseBody, type BflResponse } from './wire.ts';

/** The provider counts in credits. A dollar has 100 credits. */
const NANO_USD_PER_CREDIT = 10_000_000;

/** Reads the response to the submission, which contains the URL to poll, and the responses to the polls. */
export function readWholeImage(body: unknown, { pollMs }: ReaderContext): ImageChunk[] | Poll {
  const answer = readResponseBody(body);
  const { status, result, polling_url: url } = answer;
  if (typeof status !== 'string') {
    if (typeof url === 'string' && url !== '') return { type: 'poll', afterMs: pollMs, url };
    throw new TypeError('The response has neither a status nor a URL to poll.');
  }
  if (status === 'Ready') {
    if (typeof result?.sample !== 'string') throw new TypeError('The task is complete, but its image is missing.');
    return [{ type: 'image_link', url: result.sample }, finish(answer)];
  }
  if (/moderated/i.test(status)) {
    const reasons = readReasons(answer);
    throw new GatewayError('content_policy', `The provider refused the content: ${status}${reasons}.`, {
      providerCode: status,
    });
  }
  if (/error|fail|not found|expired|cancel/i.test(status)) {
    throw readUpstreamErrorObject({ message: `${status}${readReasons(answer)}`, code: status }, 502);
  }
  return { type: 'poll', afterMs: pollMs }; // `Pending` or an unknown status; the deadline limits the polling
}

function finish({ cost, result }: BflResponse): ImageFinishChunk {
  const chunk: ImageFinishChunk = { type: 'finish' };
  if (typeof cost === 'number' && cost > 0) {
    const upstreamCostNanoUsd = Math.round(cost * NANO_USD_PER_CREDIT);
    chunk.usage = usage({ inputTokens: 0, outputTokens: 0, upstreamCostNanoUsd });
  }
  if (typeof result?.seed === 'number') chunk.dropped = ['result.seed'];
  return chunk;
}

/** Joins the texts under all keys of `details`. */
function readReasons({ details }: BflResponse): string {
  const words = Object.values(details ?? {})
    .flat()
    .filter((each) => typeof each === 'string');
  return words.length === 0 ? '' : ` (${words.join(', ').slice(0, 200)})`;
}
