import type { Route } from '../../http/routes.ts';
import { EventWriter } from '../../http/sse.ts';
import { readInputAgain } from '../../requests/responses/request.ts';
import { type AcceptedText, createTextHandler, type TextParts } from '../serve-text.ts';
import { acceptRequest } from './accept-request.ts';

/** `POST /responses`. */
export const createResponsesHandler = (parts: TextParts): Route['handler'] =>
  createTextHandler(parts, ({ body }, hints): AcceptedText => {
    const read = acceptRequest(body, hints);
    const { hasLateTools } = read;
    return {
      read,
      readItems: (again) => readInputAgain(again, { hasLateTools }),
      openFormat: () => new EventWriter(),
      writeWhole: (response) => JSON.stringify(response),
    };
  });
