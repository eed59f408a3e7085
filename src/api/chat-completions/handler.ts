import type { Route } from '../../http/routes.ts';
import { createChatNames } from '../../requests/chat/name-fields.ts';
import { checkChatBody, readChat, readChatItems } from '../../requests/chat/request.ts';
import { checkAccepted } from '../responses/accept-request.ts';
import { createTextHandler, type TextParts, withNames } from '../serve-text.ts';
import { readChatFacts } from './chat-facts.ts';
import { ChatChunkWriter } from './write-chunks.ts';
import { writeCompletion } from './write-completion.ts';

/** `POST /chat/completions`. */
export const createChatHandler = (parts: TextParts): Route['handler'] =>
  createTextHandler(parts, ({ body, rawBody }, hints) => {
    const rename = createChatNames(() => JSON.parse(String(rawBody)));
    const checked = checkChatBody(body);
    const { read, output } = withNames(rename, () => readChat(checked, hints));
    withNames(rename, () => checkAccepted(read, hints));
    return {
      read,
      readItems: readChatItems,
      openFormat: (run) => new ChatChunkWriter(readChatFacts(run, output, rename)),
      writeWhole: (response, run) => JSON.stringify(writeCompletion(response, readChatFacts(run, output, rename))),
      rename,
      returnsReasoning: !output.hidesReasoning,
    };
  });
