import type { Route } from '../../http/routes.ts';
import { createCountHandler } from '../count-tokens.ts';
import type { TextParts } from '../serve-text.ts';
import { acceptRequest } from './accept-request.ts';

/** `POST /responses/input_tokens`. */
export const createCountInputHandler = (parts: TextParts): Route['handler'] =>
  createCountHandler(parts, {
    accept: ({ body }, hints) => ({ read: acceptRequest(body, hints) }),
    write: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  });
