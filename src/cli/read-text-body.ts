import { createChatNames } from '../requests/chat/name-fields.ts';
import { checkChatBody, readChat } from '../requests/chat/request.ts';
import { checkCompletionBody, readCompletion, renameForCompletion } from '../requests/completions/request.ts';
import { readFormatHeaders } from '../requests/messages/format-headers.ts';
import { checkMessagesBody, citeBody, readMessagesRequest } from '../requests/messages/request.ts';
import type { RenameFields } from '../requests/rename-fields.ts';
import type { RequestHints } from '../requests/request-hints.ts';
import { type ParsedRequest, readRequest } from '../requests/responses/request.ts';

/** The paths of models that write text, after `/api/v1/`. */
export type TextPath = 'responses' | 'chat/completions' | 'completions' | 'messages';

/**
 * Reads the body of a request for text, as the gateway does.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function readTextBody(path: TextPath, body: unknown, hints: RequestHints): ParsedRequest {
  switch (path) {
    case 'responses':
      return readRequest(body, hints);
    case 'chat/completions':
      return readChat(checkChatBody(body), hints).read;
    case 'completions':
      return readCompletion(checkCompletionBody(body), hints).read;
    case 'messages':
      return readMessagesRequest(checkMessagesBody(body), readFormatHeaders({}), hints);
  }
}

/** Finds the names that the fields of a body have in its own format. */
export function findNames(path: TextPath, body: unknown): RenameFields {
  switch (path) {
    case 'responses':
      return (text) => text;
    case 'chat/completions':
      return createChatNames(() => body);
    case 'completions':
      return renameForCompletion;
    case 'messages':
      return citeBody(() => body);
  }
}
