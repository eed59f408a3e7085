import type { ResponseRequest } from '../../domain/request.ts';
import type { Rules } from './facets.ts';
import type { Settings } from './rule-sets.ts';

/**
 * Whether a request is sent as a stream. Some servers accept it only as one, which the gateway then folds, and some only
 * without.
 */
export function asksForStream(settings: Settings, { max_output_tokens: limit }: ResponseRequest, isAsked: boolean) {
  const { answers, output } = settings as Pick<Rules, 'answers' | 'output'>; // checked by the wire
  if (answers?.streams === false) return false;
  const isLong = output?.max_unstreamed !== undefined && (limit ?? 0) > output.max_unstreamed;
  return isAsked || answers?.must_stream === true || isLong;
}
