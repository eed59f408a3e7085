import { writeAnthropicRateHeaders } from '../../http/rate-headers.ts';
import type { Route } from '../../http/routes.ts';
import type { Run } from '../../pipeline/run/run.ts';
import { committedOf } from '../../pipeline/run/step.ts';
import { readMessagesInput } from '../../requests/messages/request.ts';
import type { MessagesBody } from '../../requests/messages/schema.ts';
import { type AcceptedText, createTextHandler, type TextParts } from '../serve-text.ts';
import { acceptMessage } from './accept-message.ts';
import type { MessageFacts } from './message-events.ts';
import { foldMessage, MessageFormat } from './message-format.ts';

/** `POST /messages`. */
export function createMessagesHandler(parts: TextParts): Route['handler'] {
  const handle = createTextHandler(parts, (request, hints): AcceptedText => {
    const { read, rename } = acceptMessage(request, hints, parts.catalog);
    const factsOf = (run: Run) => readMessageFacts(run, request.id, rename);
    return {
      read,
      metadata: (request.body as MessagesBody).metadata, // its check has passed
      readItems: readMessagesInput,
      openFormat: (run) => new MessageFormat(factsOf(run)),
      writeWhole: (response, run) => JSON.stringify(foldMessage(response, factsOf(run))),
      writeRates: writeAnthropicRateHeaders,
      rename,
      returnsReasoning: true,
      onlyOfferedCalls: true,
    };
  });
  return (request, reply) => {
    reply.header('request-id', request.id);
    return handle(request, reply);
  };
}

function readMessageFacts(run: Run, requestId: string, rename: MessageFacts['rename']): MessageFacts {
  const attempt = () => committedOf(run) ?? run.steps.at(-1)?.attempts.at(-1);
  return {
    requestId,
    rename,
    estimateInput: () => Math.ceil(attempt()?.sent.tokens ?? 0),
    readStart: () => attempt()?.native?.start,
    readEnd: () => attempt()?.native?.end,
    readStop() {
      const text = attempt()?.finish?.stopText;
      return run.request.stop?.find((stop) => stop === text);
    },
  };
}
