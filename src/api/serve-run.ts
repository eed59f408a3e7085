import { performance } from 'node:perf_hooks'; // the global is a getter
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Demand, Ticket } from '../access/rate-limits.ts';
import type { Caller } from '../domain/caller.ts';
import { asGatewayError, type GatewayError } from '../domain/errors.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { RequestSettings } from '../domain/request.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { OpenRequests } from '../http/open-requests.ts';
import { type WriteRateHeaders, writeRateHeaders } from '../http/rate-headers.ts';
import type { ResponseHeaders } from '../http/sse.ts';
import { ClientWatch, type Deadline } from '../http/watch-client.ts';
import { ledgerUnavailable } from '../metering/ledger.ts';
import { isOverLimit, type RunBase } from '../pipeline/run/run.ts';
import type { RunOrigin } from '../pipeline/run/run-origin.ts';
import { lastAttemptOf } from '../pipeline/run/step.ts';
import type { PartlyServed } from '../platform/telemetry/dropped-fields-log.ts';
import type { RenameFields } from '../requests/rename-fields.ts';
import { readTags, type RequestMetadata, TAGS_HEADER } from '../requests/tags.ts';
import { DROPPED_FIELDS_HEADER, writeDroppedFields } from './edge/dropped-fields-header.ts';
import { wantsMetadata, wantsStandardEvents, wantsToolOutput } from './edge/wants-metadata.ts';

export interface ServeRunParts {
  /** Whether the ledger can keep a record of another request. */
  canRecord: () => boolean;
  /** Admits a request, or rejects it with 429. A promise only if it is counted in another process. */
  admit: (caller: Caller, demand: Demand, id: string) => MaybePromise<Ticket | undefined>;
  /** Where runs are registered, so that a shutdown can end them. */
  open: OpenRequests;
  describeRun: (run: RunBase) => RouterMetadata | undefined;
  /** The keys of tags. */
  tagKeys: () => readonly string[];
  /** Called for each served request of which some fields had no effect. */
  onDroppedFields: (served: PartlyServed) => void;
}

/** A request of one API that has passed all checks of its body. */
export interface AcceptedRequest<R extends RunBase>
  extends Pick<RunOrigin, 'ignoredFields' | 'clamped' | 'modelDefault' | 'pluginDefaults' | 'preset'> {
  settings: Pick<RequestSettings, 'model' | 'models' | 'stream'>;
  /** The metadata of its body, which can have tags. Absent: it has none. */
  metadata?: RequestMetadata | undefined;
  /** Name of the metadata in the body. Absent: `metadata`. */
  metadataField?: string | undefined;
  /** Estimates the tokens of its input and output. */
  estimateTokens: () => number;
  /** Writes what is left of the rate limits. Absent: as for clients of OpenAI. */
  writeRates?: WriteRateHeaders;
  deadline: Deadline;
  createRun: (origin: RunOrigin) => R;
  /**
   * Writes the response of the run in the format of the API.
   *
   * @param headers returns the headers of a response that begins now, for streams
   */
  respond: (run: R, headers: () => ResponseHeaders) => RunResponse;
  /** Names the fields in a text as the body does. Absent: they have the names of `POST /responses`. */
  rename?: RenameFields | undefined;
}

export interface RunResponse {
  /** Serves the run. @throws {GatewayError} */
  run(): Promise<void>;
  /** @returns the body; undefined if the response has been written to the connection */
  end(): MaybePromise<string | Buffer | undefined>;
  /** For a response that may begin before the run has ended. */
  stream?: {
    /** Whether the status is sent, so that a failure cannot have one. */
    hasBegun(): boolean;
    /** Ends a response that has begun. */
    fail(error: GatewayError): void;
    /** Called once at the end of the run, regardless of its outcome. */
    close(): void;
  };
}

/**
 * Serves every request that makes a run. The ledger and the rate limits admit it. A deadline, a shutdown or the end of
 * its connection cancels it. Its failure is reported once. The APIs differ in what they accept and write.
 *
 * @param accept checks the body. @throws {GatewayError} if it is invalid
 */
export function serveRun<R extends RunBase>(
  parts: ServeRunParts,
  request: FastifyRequest,
  reply: FastifyReply,
  accept: () => AcceptedRequest<R>,
): Promise<unknown> {
  const handledAt = performance.now();
  try {
    const accepted = accept();
    if (!parts.canRecord()) throw ledgerUnavailable();
    const { settings, estimateTokens, writeRates = writeRateHeaders } = accepted;
    const { metadata, metadataField } = accepted;
    request.tags = readTags(parts.tagKeys(), request.headers[TAGS_HEADER], metadata, metadataField);
    request.requestedModel = settings.model ?? settings.models?.[0];
    request.isStreamed = settings.stream === true;
    const demand = { model: settings.model, models: settings.models, isConcurrent: true, estimateTokens };
    const admitted = parts.admit(request.caller!, demand, request.generationId); // the route needs a key
    // A suspended function would keep the parts of the body that no later stage needs. This one is not suspended.
    const serve = (ticket: Ticket | undefined) => {
      if (ticket) reply.headers(writeRates(ticket.rests));
      return finishRun(parts, request, reply, openRun(parts, request, reply, accepted, { handledAt, ticket }));
    };
    return admitted instanceof Promise ? admitted.then(serve) : serve(admitted);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A run in progress, and what ends with it. */
interface OpenRun<R extends RunBase> extends Pick<AcceptedRequest<R>, 'rename'> {
  run: R;
  response: RunResponse;
  client: ClientWatch;
  ticket: Ticket | undefined;
  /** Removes it from the requests in flight. */
  end: () => void;
}

/** Creates the run of an admitted request, and its response. Does not keep the accepted request. */
function openRun<R extends RunBase>(
  parts: ServeRunParts,
  request: FastifyRequest,
  reply: FastifyReply,
  accepted: AcceptedRequest<R>,
  { handledAt, ticket }: { handledAt: number; ticket: Ticket | undefined },
): OpenRun<R> {
  const { headers, generationId } = request;
  const { settings, deadline, rename } = accepted;
  const client = new ClientWatch(reply.raw, deadline);
  const { cancellation } = client;
  const end = parts.open.begin(
    (reason) => cancellation.cancel(reason),
    settings.stream === true ? 'stream' : 'response',
  );
  request.hasRun = true;
  const run = accepted.createRun({
    ignoredFields: accepted.ignoredFields,
    clamped: accepted.clamped,
    modelDefault: accepted.modelDefault,
    pluginDefaults: accepted.pluginDefaults,
    preset: accepted.preset,
    caller: request.caller!, // the route needs a key
    origin: {
      requestId: request.id,
      route: request.routeSetting.path ?? '',
      receivedAt: request.receivedAt,
      handledAt,
      traceparent: headers['traceparent'] as string | undefined, // Node joins repeated headers
    },
    generationId,
    cancellation,
    metadata: wantsMetadata(headers),
    showsToolOutput: wantsToolOutput(headers),
    hasStandardEvents: wantsStandardEvents(headers),
    modelLimits: ticket,
    tags: request.tags,
  });
  const response = accepted.respond(run, () => {
    setDroppedFields(reply, run, rename);
    return reply.getHeaders() as ResponseHeaders; // the server sets no others
  });
  return { run, response, client, ticket, end, rename };
}

/** Serves a run to the end of its response. */
async function finishRun<R extends RunBase>(
  parts: ServeRunParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { run, response, client, ticket, end, rename }: OpenRun<R>,
): Promise<unknown> {
  const { stream } = response;
  try {
    await response.run();
    reportDroppedFields(parts, request, run, setDroppedFields(reply, run, rename));
    const ended = response.end();
    const body = ended instanceof Promise ? await ended : ended;
    if (body !== undefined) return body;
  } catch (error) {
    const failure = asGatewayError(error);
    if (!stream?.hasBegun()) {
      request.routerMetadata = parts.describeRun(run);
      throw failure;
    }
    stream.fail(failure);
  } finally {
    stream?.close();
    client.stop();
    end();
    ticket?.end(run.recordedTokens ?? 0, isOverLimit(run));
  }
  if (run.error && run.error.status >= 500) request.failure = run.error;
  return reply.hijack();
}

/** Sets the header that names the fields without effect. @returns its value; undefined if there are none */
function setDroppedFields(reply: FastifyReply, run: RunBase, rename: RenameFields | undefined): string | undefined {
  const fields = writeDroppedFields(run, rename);
  if (fields !== undefined) reply.header(DROPPED_FIELDS_HEADER, fields);
  return fields;
}

function reportDroppedFields(
  { onDroppedFields }: ServeRunParts,
  { id }: FastifyRequest,
  run: RunBase,
  fields: string | undefined,
): void {
  const endpoint = lastAttemptOf(run)?.endpoint;
  if (fields === undefined || !endpoint) return;
  const { caller, generationId } = run;
  onDroppedFields({
    requestId: id,
    generationId,
    caller,
    model: endpoint.model,
    provider: endpoint.provider.name,
    fields,
  });
}
