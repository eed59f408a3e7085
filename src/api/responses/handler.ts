import type { Route } from '../../http/routes.ts';
import { EventWriter } from '../../http/sse.ts';
import { readInputAgain } from '../../requests/responses/request.ts';
import { type AcceptedText, createTextHandler, type TextParts } from '../serve-text.ts';
import { acceptRequest } from './accept-request.ts';
import { SealingWriter, sealResponse } from './seal-reasoning.ts';
import { findTurn } from './socket/connection.ts';
import { lines, SocketWriter } from './socket/writer.ts';

/** `POST /responses`, and the responses of WebSockets. */
export const createResponsesHandler = (parts: TextParts): Route['handler'] =>
  createTextHandler(parts, ({ body, raw }, hints): AcceptedText => {
    const turn = findTurn(raw);
    const read = acceptRequest(body, hints);
    const { hasLateTools } = read;
    const { openSummary } = hints;
    const seals = read.request.include?.includes('reasoning.encrypted_content') === true;
    return {
      read,
      readItems: (again) => readInputAgain(again, { hasLateTools, openSummary }),
      openFormat: () => {
        const Writer = seals ? SealingWriter : EventWriter;
        return turn ? new SocketWriter(new Writer(lines), turn) : new Writer();
      },
      isWarmUp: turn?.isWarmUp === true,
      writeWhole: (response) => JSON.stringify(seals ? sealResponse(response) : response),
    };
  });
