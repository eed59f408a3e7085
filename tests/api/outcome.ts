import { expect } from 'vitest';
import type { LifecycleEvent, ResponseEvent } from '../../src/domain/events.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import type { StreamedResponse } from '../../src/testing/test-gateway.ts';
import { checkEvents } from './check-events.ts';

/** The result of a request, buffered or streamed. */
export interface Outcome {
  status: number;
  headers: Headers;
  /** The unchanged body. */
  text: string;
  /** The envelope of a request that failed before any output. */
  envelope: ErrorEnvelope | undefined;
  /** The response object: the body, or that of the terminal event. */
  response: ResponseObject | undefined;
  /** Empty unless it was streamed. */
  events: ResponseEvent[];
  comments: string[];
}

export interface ErrorEnvelope {
  error: { code: number; message: string; metadata: Record<string, unknown>; [field: string]: unknown };
  router_metadata?: Record<string, unknown>;
}

/** Reads a response, and checks every stream against the rules of all streams. */
export function readOutcome(answer: StreamedResponse): Outcome {
  const { status, headers, text, events, comments } = answer;
  const outcome: Outcome = {
    status,
    headers,
    text,
    envelope: undefined,
    response: undefined,
    events,
    comments,
  };
  expect(headers.get('x-generation-id')).toMatch(/^gen-\w{24}$/);
  if (headers.get('content-type') === 'text/event-stream') {
    expect(status).toBe(200);
    expect(text.endsWith('data: [DONE]\n\n'), `the stream ends with [DONE], not ${text.slice(-100)}`).toBe(true);
    checkEvents(events);
    outcome.response = (events.at(-1) as LifecycleEvent).response; // terminal, as checked
    return outcome;
  }
  const body = JSON.parse(text) as unknown;
  if (status === 200) outcome.response = body as ResponseObject;
  else outcome.envelope = body as ErrorEnvelope;
  return outcome;
}

/** Expects a failure with a status and the envelope. @returns the envelope */
export function expectFailure(outcome: Outcome, status: number, errorType: string, message?: RegExp): ErrorEnvelope {
  expect({ status: outcome.status, body: outcome.text }).toMatchObject({ status });
  expect(outcome.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { envelope } = outcome;
  expect(envelope?.error).toMatchObject({ code: status, metadata: { error_type: errorType } });
  if (message) expect(envelope?.error.message).toMatch(message);
  return envelope!;
}

/** Expects a stream that ends with a failure. @returns the failed response object */
export function expectBroken(outcome: Outcome, errorType: string, textSoFar: string): ResponseObject {
  const { response } = outcome;
  expect({ status: outcome.status, text: outcome.text }).toMatchObject({ status: 200 });
  expect(outcome.events.at(-1)?.type).toBe('response.failed');
  expect(response).toMatchObject({ status: 'failed', error_type: errorType, completed_at: null });
  expect(response?.error).toEqual({ code: expect.any(String), message: expect.stringMatching(/\w/) });
  expect(response?.output).toHaveLength(1);
  expect(response?.output[0]).toMatchObject({
    type: 'message',
    status: 'incomplete',
    content: [{ type: 'output_text', text: textSoFar }],
  });
  return response!;
}

/** Expects a success with this text. */
export function expectText(outcome: Outcome, text: string): ResponseObject {
  expect({ status: outcome.status, body: outcome.text }).toMatchObject({ status: 200 });
  const { response } = outcome;
  expect(response).toMatchObject({ status: 'completed', error: null });
  expect(textOf(response)).toBe(text);
  return response!;
}

export function textOf(response: ResponseObject | undefined): string {
  const parts = (response?.output ?? []).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.map((part: { text?: string }) => part.text ?? '').join('');
}
