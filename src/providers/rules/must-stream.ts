import type { ResponseRequest } from '../../domain/request.ts';
import type { Rules } from './facets.ts';
import type { Settings } from './rule-sets.ts';

/** Whether a server accepts a request only as a stream, which the gateway then folds for its client. */
export function mustStream(settings: Settings, { max_output_tokens: limit }: ResponseRequest): boolean {
  const { answers, output } = settings as Pick<Rules, 'answers' | 'output'>; // checked by the wire
  return (
    answers?.must_stream === true || (output?.max_unstreamed !== undefined && (limit ?? 0) > output.max_unstreamed)
  );
}
