import type { Route } from '../../http/routes.ts';
import { createChatNames } from '../../requests/chat/name-fields.ts';
import { checkChatBody, readChat, readChatItems } from '../../requests/chat/request.ts';
import { isResponsesBody } from '../../requests/chat/settle-neighbors.ts';
import type { RequestHints } from '../../requests/request-hints.ts';
import { readInputAgain } from '../../requests/responses/request.ts';
import { acceptRequest, checkAccepted } from '../responses/accept-request.ts';
import { type AcceptedText, createTextHandler, type TextParts, withNames } from '../serve-text.ts';
import { readsNumbers } from '../openai-errors.ts';
import { type ChatClient, readChatFacts } from './chat-facts.ts';
import { ChatChunkWriter } from './write-chunks.ts';
import { writeCompletion } from './write-completion.ts';

/** `POST /chat/completions`. */
export const createChatHandler = (parts: TextParts): Route['handler'] =>
  createTextHandler(parts, ({ body, rawBody, headers }, hints) => {
    if (isResponsesBody(body)) return acceptResponsesBody(body, hints, readsNumbers(headers));
    const rename = createChatNames(() => JSON.parse(String(rawBody)));
    const checked = checkChatBody(body);
    const { read, output } = withNames(rename, () => readChat(checked, hints));
    withNames(rename, () => checkAccepted(read, hints));
    const client = { rename, readsNumbers: readsNumbers(headers) };
    return {
      read,
      readItems: readChatItems,
      openFormat: (run) => new ChatChunkWriter(readChatFacts(run, output, client)),
      writeWhole: (response, run) => JSON.stringify(writeCompletion(response, readChatFacts(run, output, client))),
      rename,
      returnsReasoning: !output.hidesReasoning,
      onlyOfferedCalls: true,
    };
  });

/** Reads a body of `POST /responses`, which some editors send to this API. The response has the format of this API. */
function acceptResponsesBody(body: Record<string, unknown>, hints: RequestHints, hasNumbers: boolean): AcceptedText {
  const { include_usage: includesUsage } = (body['stream_options'] ?? {}) as { include_usage?: unknown };
  const output = { includesUsage: includesUsage === true, hidesReasoning: false, hasLegacyCalls: false };
  const read = acceptRequest(body, hints);
  const { hasLateTools } = read;
  const client: ChatClient = { rename: (text) => text, readsNumbers: hasNumbers };
  return {
    read,
    readItems: (again) => readInputAgain(again, { hasLateTools }),
    openFormat: (run) => new ChatChunkWriter(readChatFacts(run, output, client)),
    writeWhole: (response, run) => JSON.stringify(writeCompletion(response, readChatFacts(run, output, client))),
    returnsReasoning: true,
    onlyOfferedCalls: true,
  };
}
