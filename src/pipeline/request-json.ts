import type { ResponseRequest } from '../domain/request.ts';
import { parseJson } from '../domain/parse-json.ts';
import { EventFold } from './events/fold-events.ts';
import { respond } from './respond.ts';
import type { ResponsePipeline } from './response-pipeline.ts';
import type { RunBase } from './run/run.ts';

/**
 * Asks a model for JSON, to serve a run.
 *
 * @returns undefined if the text of the response is not JSON
 * @throws {GatewayError} if there is no response within `timeoutMs`
 */
export async function requestJson(
  pipeline: ResponsePipeline,
  parent: RunBase,
  request: ResponseRequest,
  timeoutMs: number,
): Promise<unknown> {
  const fold = new EventFold();
  await respond(pipeline, { request, timeoutMs, parent }, fold);
  const { output } = fold.response as { output: readonly { type: string; content?: { text?: unknown }[] }[] };
  const message = output.find(({ type }) => type === 'message');
  try {
    return parseJson(String(message?.content?.[0]?.text));
  } catch {
    return undefined; // the response does not match the schema
  }
}
