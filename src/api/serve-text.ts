import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog } from '../catalog/catalog.ts';
import { findServedTools } from '../domain/depth-headers.ts';
import type { SummarySeal } from '../domain/compaction.ts';
import { GatewayError } from '../domain/errors.ts';
import type { InputItem } from '../domain/items.ts';
import type { ResponseObject } from '../domain/response.ts';
import { LARGE_TEXT } from '../http/chunked-body.ts';
import type { Route } from '../http/routes.ts';
import type { WriteRateHeaders } from '../http/rate-headers.ts';
import { type EventFormat, EventStream, type ResponseHeaders } from '../http/sse.ts';
import { estimateResponseTokens } from '../pipeline/accounting/reserved-tokens.ts';
import { copyError } from '../pipeline/copy-error.ts';
import { createResponse } from '../pipeline/create-response.ts';
import { warmUp } from '../pipeline/warm-up.ts';
import { failRun } from '../pipeline/events/fail-run.ts';
import { EventFold } from '../pipeline/events/fold-events.ts';
import type { ResponsePipeline } from '../pipeline/response-pipeline.ts';
import { createRun } from '../pipeline/run/create-run.ts';
import type { Run } from '../pipeline/run/run.ts';
import { BodySource } from '../requests/body-source.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import { type RenameFields, renameIssues, renameMetadata } from '../requests/rename-fields.ts';
import type { RequestHints } from '../requests/request-hints.ts';
import type { ParsedRequest } from '../requests/responses/request.ts';
import { findBetas } from '../requests/messages/format-headers.ts';
import { findSessionHeader } from '../requests/session-header.ts';
import type { RequestMetadata } from '../requests/tags.ts';
import { type AcceptedRequest, type RunResponse, type ServeRunParts, serveRun } from './serve-run.ts';

export interface TextParts extends ServeRunParts {
  pipeline: ResponsePipeline;
  /** The operator's plugins. */
  modules: ModulePlugins;
  /** Maximum number of server-tool steps of a request with conditions. */
  maxSteps: () => number;
  summaries: SummarySeal;
  /** The models that a name without an author may mean. */
  catalog: () => Pick<Catalog, 'find'>;
  requestMs: () => number;
  keepAliveMs: () => number;
}

/** A body that an API of texts has accepted, and how this API writes the response. */
export interface AcceptedText {
  read: ParsedRequest;
  /** Reads the input of the body, parsed again. It must not keep the items of `read`. */
  readItems: (body: unknown) => InputItem[];
  /** The metadata of a body that has other fields than `POST /responses`. Absent: that of the request. */
  metadata?: RequestMetadata | undefined;
  /** Name of the metadata in the body. Absent: `metadata`. */
  metadataField?: string;
  /** Creates the format of a streamed response. */
  openFormat: (run: Run) => EventFormat;
  /** Writes a whole response as JSON. */
  writeWhole: (response: ResponseObject, run: Run) => string;
  /** Whether the response has no output, and no model is called. */
  isWarmUp?: boolean;
  /** Whether clients send reasoning back in the next turn, without a setting for it. */
  returnsReasoning?: boolean;
  /** Whether the API has no form for a call of a tool that the client did not offer. */
  onlyOfferedCalls?: boolean;
  /** Writes what is left of the rate limits. Absent: as for clients of OpenAI. */
  writeRates?: WriteRateHeaders;
  /** Names the fields in a text as the body does. Absent: they have the names of `POST /responses`. */
  rename?: RenameFields;
}

/** An API that generates texts: what it accepts, and how it writes the response. All of them share one path. */
export type TextApi = (request: FastifyRequest, hints: RequestHints) => AcceptedText;

/**
 * Creates the handler of an API of texts.
 *
 * @param api checks a body. @throws {GatewayError} if the body is invalid
 */
export function createTextHandler(parts: TextParts, api: TextApi): Route['handler'] {
  const { pipeline } = parts;

  function accept(request: FastifyRequest, reply: FastifyReply, accepted: AcceptedText): AcceptedRequest<Run> {
    const { headers, rawBody, bodyShare } = request;
    request.body = undefined; // `read` has what the run needs of it
    const { read } = accepted;
    const settings = read.request;
    const betas = settings.native?.format === 'anthropic-messages' ? undefined : findBetas(headers);
    if (betas) settings.anthropic_betas = betas;
    const source = rawBody && new BodySource(rawBody, accepted.readItems);
    return {
      settings,
      metadata: accepted.metadata ?? settings.metadata,
      metadataField: accepted.metadataField,
      estimateTokens: () => estimateResponseTokens(settings),
      writeRates: accepted.writeRates,
      deadline: { ms: parts.requestMs(), setting: 'timeouts.request_ms' },
      ignoredFields: read.ignoredFields,
      clamped: read.clamped,
      modelDefault: read.hasDefaultModel ? 'default_text_model' : undefined,
      pluginDefaults: read.pluginDefaults,
      preset: read.preset,
      createRun: (origin) =>
        createRun(pipeline, {
          ...origin,
          request: settings,
          returnsReasoning: accepted.returnsReasoning,
          onlyOfferedCalls: accepted.onlyOfferedCalls,
          source,
          servedTools: findServedTools(headers),
          memory: bodyShare,
        }),
      respond: (run, begun) =>
        settings.stream
          ? streamResponse(run, reply, { accepted, headers: begun })
          : bufferResponse(run, reply, accepted),
      rename: accepted.rename,
    };
  }

  function streamResponse(
    run: Run,
    { raw }: FastifyReply,
    { accepted, headers }: { accepted: AcceptedText; headers: () => ResponseHeaders },
  ): RunResponse {
    const format = accepted.openFormat(run);
    const keepAliveMs = format.keepAlive === '' ? 0 : parts.keepAliveMs();
    const respond = accepted.isWarmUp ? warmUp : createResponse;
    return new StreamedText(pipeline, run, new EventStream(raw, { headers, keepAliveMs }, format), respond);
  }

  function bufferResponse(run: Run, reply: FastifyReply, { writeWhole }: AcceptedText): RunResponse {
    const fold = new EventFold();
    return {
      run: () => createResponse(pipeline, run, fold),
      end() {
        reply.header('content-type', 'application/json; charset=utf-8');
        const text = writeWhole(fold.response, run);
        return text.length > LARGE_TEXT ? encodeLater(text) : text;
      },
    };
  }

  return (request, reply) => {
    let accepted: AcceptedText | undefined;
    const served = serveRun(parts, request, reply, () => {
      const hints = readHints(parts, request);
      const { defaults } = request.caller!; // the route needs a key
      accepted = api(request, { ...hints, savedPlugins: defaults?.plugins, maxSteps: parts.maxSteps() });
      return accept(request, reply, accepted);
    });
    const rename = accepted?.rename;
    if (!rename) return served;
    return served.catch((error: unknown) => {
      if (request.routerMetadata) request.routerMetadata = renameMetadata(request.routerMetadata, rename);
      throw renameError(error, rename);
    });
  };
}

/** Reads the facts about a request that every API of texts needs. */
export function readHints({ modules, summaries }: TextParts, { caller, headers }: FastifyRequest): RequestHints {
  const { defaults, presets, reach, workspaceId } = caller!; // the route needs a key
  return {
    sessionId: findSessionHeader(headers),
    defaultModel: defaults?.textModel,
    presets,
    modules,
    disabledTools: defaults?.disabledTools,
    openSummary: (sealed) => summaries.open(workspaceId, sealed),
    reach,
  };
}

/** Encodes a text in a turn of the event loop of its own. Node writes bytes without another copy. */
async function encodeLater(text: string): Promise<Buffer> {
  await nextTurn();
  return Buffer.from(text);
}

/** The response of a streamed run. A class, because it lasts as long as the stream, and closures take more memory. */
class StreamedText implements RunResponse {
  readonly stream = this;
  private readonly pipeline: ResponsePipeline;
  private readonly served: Run;
  private readonly events: EventStream;
  private readonly respond: typeof createResponse;

  constructor(pipeline: ResponsePipeline, served: Run, events: EventStream, respond: typeof createResponse) {
    this.pipeline = pipeline;
    this.served = served;
    this.events = events;
    this.respond = respond;
  }

  run(): Promise<void> {
    return this.respond(this.pipeline, this.served, this.events);
  }

  end(): undefined {
    this.events.end();
  }

  hasBegun(): boolean {
    return this.events.begun;
  }

  fail(error: GatewayError): void {
    const last = failRun(this.served, error);
    if (last.length > 0) this.events.write(last);
    this.events.end();
  }

  close(): void {
    this.events.stop();
  }
}

/** Returns an error with the names of the fields of another API. */
export const renameError = <Thrown>(error: Thrown, rename: RenameFields): Thrown | GatewayError =>
  error instanceof GatewayError
    ? copyError(error, rename(error.message), { metadata: renameIssues(error, rename) })
    : error;

/** Calls a function. Its errors have the names of the fields of another API. */
export function withNames<Result>(rename: RenameFields, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    throw renameError(error, rename);
  }
}
