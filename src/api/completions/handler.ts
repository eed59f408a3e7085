import type { Route } from '../../http/routes.ts';
import {
  checkCompletionBody,
  readCompletion,
  readPrompt,
  renameForCompletion,
} from '../../requests/completions/request.ts';
import type { CompletionBody } from '../../requests/completions/schema.ts';
import { readChatFacts } from '../chat-completions/chat-facts.ts';
import { readsNumbers } from '../openai-errors.ts';
import { checkAccepted } from '../responses/accept-request.ts';
import { createTextHandler, type TextParts, withNames } from '../serve-text.ts';
import { TextChunkWriter, writeTextCompletion } from './write-text-completion.ts';

/** `POST /completions`. */
export const createCompletionHandler = (parts: TextParts): Route['handler'] =>
  createTextHandler(parts, ({ body, headers }, hints) => {
    const rename = renameForCompletion;
    const checked = checkCompletionBody(body);
    const { read, output } = withNames(rename, () => readCompletion(checked, hints));
    withNames(rename, () => checkAccepted(read, hints));
    const client = { rename, readsNumbers: readsNumbers(headers) };
    return {
      read,
      readItems: (again) => readPrompt(again as CompletionBody), // it was checked
      openFormat: (run) => new TextChunkWriter(readChatFacts(run, output, client)),
      writeWhole: (response, run) => JSON.stringify(writeTextCompletion(response, readChatFacts(run, output, client))),
      rename,
      onlyOfferedCalls: true,
    };
  });
