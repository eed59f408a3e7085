import type { FastifyRequest } from 'fastify';
import { completeName } from '../../catalog/complete-name.ts';
import type { RequestHints } from '../../requests/request-hints.ts';
import { readFormatHeaders } from '../../requests/messages/format-headers.ts';
import { checkMessagesBody, citeBody, readMessagesRequest } from '../../requests/messages/request.ts';
import type { RenameFields } from '../../requests/rename-fields.ts';
import type { ParsedRequest } from '../../requests/responses/request.ts';
import { checkAccepted } from '../responses/accept-request.ts';
import { type TextParts, withNames } from '../serve-text.ts';

/**
 * Reads a request of the Messages API. Its model may be that of Anthropic without the author.
 *
 * @throws {GatewayError} `invalid_request` and `unprocessable`, with the paths of the body
 */
export function acceptMessage(
  { headers, body, rawBody }: Pick<FastifyRequest, 'headers' | 'body' | 'rawBody'>,
  hints: RequestHints,
  catalog: TextParts['catalog'],
): { read: ParsedRequest; rename: RenameFields } {
  const format = readFormatHeaders(headers);
  const checked = checkMessagesBody(body);
  if (typeof checked.model === 'string') checked.model = completeName(checked.model, 'anthropic', catalog());
  const rename = citeBody(() => JSON.parse(String(rawBody)));
  const read = withNames(rename, () => checkAccepted(readMessagesRequest(checked, format, hints), hints));
  return { read, rename };
}
