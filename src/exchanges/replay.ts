import { createCatalog } from '../catalog/catalog.ts';
import { Cancellation } from '../domain/cancellation.ts';
import { asGatewayError, GatewayError } from '../domain/errors.ts';
import type { ResponseEvent } from '../domain/events.ts';
import { createId } from '../domain/ids.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { ResponseObject } from '../domain/response.ts';
import type { Sink } from '../domain/sink.ts';
import { createResponse } from '../pipeline/create-response.ts';
import { createRun } from '../pipeline/run/create-run.ts';
import { createRetryParts } from '../pipeline/steps/endpoint-queue.ts';
import { isTerminal } from '../pipeline/events/fold-events.ts';
import type { ResponsePipeline } from '../pipeline/response-pipeline.ts';
import { lastAttemptOf } from '../pipeline/run/step.ts';
import { KeyRing } from '../providers/key-ring.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../providers/provider.ts';
import type { Upstream, UpstreamResponse } from '../providers/transport.ts';
import type { Wire } from '../providers/wire.ts';
import { createRoutingContext } from '../routing/routing-context.ts';
import { cutHeader, type Recording } from './recording.ts';

/** How a recorded response is read. */
export interface ReplayOptions {
  wire: Wire;
  dialect: Readonly<Record<string, unknown>>;
  /** Requested as a stream, whatever the recording says, so that there are events. */
  request: ResponseRequest;
  upstreamModel: string;
  /** Bytes per piece. Several sizes are used in turn. Default: all at once. */
  sizes?: readonly number[];
}

/** The result that a client would receive. */
export interface Replayed {
  events: ResponseEvent[];
  /** The response of the last event. Undefined: the request failed before any output. */
  response: ResponseObject | undefined;
  /** Why the request failed before any output. The client would receive its status. */
  error: GatewayError | undefined;
  /** Fields of the request that the wire omitted, and fields of the response that are not passed on. */
  dropped: readonly string[];
  droppedUpstream: readonly string[];
}

/** Runs a recorded response through the pipeline of the gateway. The recording replaces the network. */
export async function replayRecording(recording: Recording, options: ReplayOptions): Promise<Replayed> {
  const { request } = options;
  const endpoint = createEndpoint(new RecordedUpstream(recording, options.sizes), options);
  const routingContext = createRoutingContext(createCatalog([endpoint]));
  const pipeline: ResponsePipeline = {
    routingContext: () => routingContext,
    maxAttempts: () => 1,
    retry: createRetryParts(),
    inspectors: [],
    plugins: [],
    record: () => {},
    hashEndUser: () => '',
    region: () => '',
    upstreamBodyLimit: () => Number.POSITIVE_INFINITY,
    learnsRules: () => false,
  };
  const run = createRun(pipeline, {
    request: { ...request, model: endpoint.model, models: undefined, stream: true },
    caller: { keyHash: '', keyName: '', kind: 'organization', workspaceId: '', memberId: null },
    generationId: createId('gen-'),
    cancellation: new Cancellation(),
    metadata: false,
    ignoredFields: [],
    clamped: [],
  });
  const events: ResponseEvent[] = [];
  let error: GatewayError | undefined;
  try {
    await createResponse(pipeline, run, {
      write(batch) {
        events.push(...batch);
        return undefined;
      },
    });
  } catch (thrown) {
    error = asGatewayError(thrown);
  }
  const last = events.at(-1);
  const attempt = lastAttemptOf(run);
  return {
    events,
    error,
    response: last && isTerminal(last) ? last.response : undefined,
    dropped: attempt?.droppedFields ?? [],
    droppedUpstream: attempt?.droppedUpstreamFields ?? [],
  };
}

function createEndpoint(upstream: Upstream, { wire, dialect, upstreamModel }: ReplayOptions): Endpoint {
  const provider: Provider = {
    id: 'recording',
    name: 'The recording',
    wire,
    dialect,
    settingsOf: () => dialect,
    rulesFor: () => [],
    learn: () => undefined,
    upstream,
    imageFirstByteMs: 0, // there is no clock here
    upstreamOf: () => upstream,
    keys: new KeyRing(1),
    keyNames: [],
    headersFor: () => [],
    maskKeys: (text) => text,
    close: async () => {},
  };
  return bareEndpoint(provider, upstreamModel, upstreamModel);
}

/** Responds to every request with the recording. */
class RecordedUpstream implements Upstream {
  private readonly recording: Recording;
  private readonly sizes: readonly number[];

  constructor(recording: Recording, sizes: readonly number[] = []) {
    this.recording = recording;
    this.sizes = sizes;
  }

  async send(): Promise<UpstreamResponse> {
    const { status, headers, body } = this.recording;
    const pieces = cut(body, this.sizes.length > 0 ? this.sizes : [Math.max(1, body.length)]);
    return new RecordedAnswer(status, headers, pieces);
  }

  async close(): Promise<void> {}
}

class RecordedAnswer implements UpstreamResponse {
  readonly status: number;
  readonly headers: Recording['headers'];
  private readonly pieces: readonly Buffer[];
  private isReleased = false;

  constructor(status: number, headers: Recording['headers'], pieces: readonly Buffer[]) {
    this.status = status;
    this.headers = headers;
    this.pieces = pieces;
  }

  async each(sink: Sink<Buffer>): Promise<void> {
    for (const piece of this.pieces) {
      if (this.isReleased) return;
      await sink.write([piece]);
    }
    const reason = this.headers[cutHeader];
    if (reason !== undefined && !this.isReleased) throw new GatewayError('upstream_failed', reason);
  }

  release(): void {
    this.isReleased = true;
  }
}

/** @param sizes 1 or more each */
function cut(body: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0, turn = 0; from < body.length; turn++) {
    const to = from + sizes[turn % sizes.length]!;
    pieces.push(body.subarray(from, to));
    from = to;
  }
  return pieces;
}
