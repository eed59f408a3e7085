import { writeAnthropicRateHeaders } from '../../http/rate-headers.ts';
import type { Route } from '../../http/routes.ts';
import { createCountHandler } from '../count-tokens.ts';
import type { TextParts } from '../serve-text.ts';
import { acceptMessage } from './accept-message.ts';

/** `POST /messages/count_tokens`. */
export function createCountTokensHandler(parts: TextParts): Route['handler'] {
  const handle = createCountHandler(parts, {
    accept: (request, hints) => ({
      ...acceptMessage(request, hints, parts.catalog),
      writeRates: writeAnthropicRateHeaders,
    }),
    write: (tokens) => ({ input_tokens: tokens }),
  });
  return (request, reply) => {
    reply.header('request-id', request.id);
    return handle(request, reply);
  };
}
