import type { Route } from '../../http/routes.ts';
import { Needs } from '../../routing/needs.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import type { TextParts } from '../serve-text.ts';
import { acceptMessage } from './accept-message.ts';

/** `POST /messages/count_tokens`: an estimate, which calls no provider. // choice 621 */
export const createCountTokensHandler =
  ({ modules }: Pick<TextParts, 'modules'>): Route['handler'] =>
  async (request, reply) => {
    reply.header('request-id', request.id);
    const { defaults, presets } = request.caller!; // the route needs a key
    const { read } = acceptMessage(request, {
      sessionId: findSessionHeader(request.headers),
      defaultModel: defaults?.textModel,
      presets,
      modules,
    });
    const { max_output_tokens: _, ...input } = read.request;
    reply.header('x-router-token-count', 'estimate');
    return { input_tokens: new Needs(input).requiredTokens };
  };
