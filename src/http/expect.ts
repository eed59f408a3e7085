import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../domain/errors.ts';

/** Requests whose client sends its body after a `100 Continue`, with the response that sends it. */
const awaiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Routes requests with `Expect` like all others. By default Node responds to them itself, before the key is checked.
 */
export function routeExpectations(app: FastifyInstance): void {
  app.server.on('checkContinue', (raw: IncomingMessage, response: ServerResponse) => {
    awaiting.set(raw, response);
    app.routing(raw, response);
  });
  app.server.on('checkExpectation', (raw: IncomingMessage, response: ServerResponse) => app.routing(raw, response));
}

/** @throws {GatewayError} `expectation_failed` for anything but `100-continue` */
export function checkExpectation({ headers }: IncomingMessage): void {
  const { expect } = headers;
  if (expect === undefined || /(^|\W)100-continue($|\W)/i.test(expect)) return; // the same check as in Node
  const text = `Expect: ${expect.slice(0, 100)} is not supported; the only expectation is 100-continue.`;
  throw new GatewayError('expectation_failed', text);
}

/** Sends `100 Continue` if the client waits for it. */
export function sendContinue(raw: IncomingMessage): void {
  if (raw.headers.expect === undefined) return;
  awaiting.get(raw)?.writeContinue();
  awaiting.delete(raw);
}

/** Whether the client still waits for `100 Continue`, so its body may never arrive. */
export const isAwaitingContinue = (raw: IncomingMessage): boolean =>
  raw.headers.expect !== undefined && awaiting.has(raw);
