import type { Chunk, FinishChunk, StartChunk } from '../../src/domain/chunks.ts';
import type { EndpointFacts } from '../../src/domain/endpoint.ts';
import { asGatewayError, GatewayError } from '../../src/domain/errors.ts';
import type { ResponseEvent } from '../../src/domain/events.ts';
import { usage } from '../../src/domain/usage.ts';
import type { Recording } from '../../src/exchanges/recording.ts';
import { costOf, writeUsage } from '../../src/metering/cost.ts';
import { fitToWire, mayReason } from '../../src/pipeline/attempts/fit-to-wire.ts';
import { readResponse } from '../../src/pipeline/attempts/read-response.ts';
import { EventBuilder } from '../../src/pipeline/events/build-events.ts';
import { EventFold } from '../../src/pipeline/events/fold-events.ts';
import { createResponseObject } from '../../src/pipeline/events/response-object.ts';
import { textWires } from '../../src/providers/index.ts';
import type { AcceptedBody, Api, Exchange } from './text-apis.ts';

/** A dialect of each wire whose server has every field that the protocol has. */
const dialects: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'openai-chat': { reasoning_details: true },
};

const everything = { capabilities: {} } as EndpointFacts;

/** The upstream's side of an exchange. */
export interface Upstream {
  wire: string;
  model: string;
  recorded: Recording;
  /** Bytes of the body that arrive. Absent: all. */
  bytes?: number;
}

/** The two sides of an exchange. */
export interface Served {
  /** What the upstream gets; undefined if the request was rejected. */
  sent: Record<string, unknown> | undefined;
  /** Fields that the metadata lists, by the names of the API. */
  dropped: readonly string[];
  status: number;
  /** The body that the client gets: JSON, or server-sent events. */
  body: string;
}

/** Serves a body as the gateway does, without a server: the recording is the response of the provider. */
export async function serveExchange(api: Api, body: object, upstream: Upstream): Promise<Served> {
  const none = { sent: undefined, dropped: [] };
  let accepted: AcceptedBody;
  try {
    accepted = api.accept(JSON.parse(JSON.stringify(body)));
  } catch (error) {
    return { ...none, ...writeFailure(api, error) };
  }
  const wire = textWires.get(upstream.wire)!;
  const isStreamed = accepted.request.stream === true;
  try {
    const { request, changed } = fitToWire(accepted.request, everything, upstream.wire, false);
    const written = wire.text.writeRequest(request, {
      endpoint: 'a model at a provider',
      upstreamModel: upstream.model,
      stream: isStreamed,
      dialect: dialects[upstream.wire] ?? {},
      ...(accepted.returnsReasoning && mayReason(everything, request) && { sealsReasoning: true }),
    });
    const sent = JSON.parse(JSON.stringify(written.body)) as Record<string, unknown>;
    const dropped = [...changed, ...written.dropped].map((name) => accepted.rename(name));
    try {
      const response = await respond(api, accepted, upstream, written.readerContext);
      return { sent, dropped, status: 200, body: response };
    } catch (error) {
      return { sent, dropped, ...writeFailure(api, error, accepted) };
    }
  } catch (error) {
    return { ...none, ...writeFailure(api, error, accepted) };
  }
}

function writeFailure(api: Api, error: unknown, accepted?: AcceptedBody): { status: number; body: string } {
  if (!(error instanceof GatewayError)) throw error;
  const { status, body } = api.writeError(error, accepted);
  return { status, body: JSON.stringify(body) };
}

/** @throws {GatewayError} if the provider failed before its first output, or the response is buffered */
async function respond(
  api: Api,
  accepted: AcceptedBody,
  { wire: wireId, recorded, bytes }: Upstream,
  readerContext: unknown,
): Promise<string> {
  const wire = textWires.get(wireId)!;
  const { status, headers, body } = recorded;
  if (status >= 300) throw wire.readError({ status, headers, body: JSON.parse(body.toString()) });
  const isStreamed = accepted.request.stream === true;
  const exchange: Exchange = {};
  const builder = createBuilder(accepted, isStreamed);
  const fold = new EventFold();
  const format = api.openFormat(accepted, exchange);
  let text = '';
  const write = (events: ResponseEvent[]): void => {
    if (isStreamed) for (const event of events) text += format.write(event);
    else fold.write(events);
  };
  const answer = {
    status,
    headers: { ...headers, 'content-type': isStreamed ? 'text/event-stream' : 'application/json' },
    async each(sink: { write(batch: Buffer[]): Promise<void> | undefined }) {
      for (let from = 0, end = bytes ?? body.length; from < end; from += PIECE_BYTES)
        await sink.write([body.subarray(from, Math.min(from + PIECE_BYTES, end))]);
    },
    release: () => undefined,
  };
  const how = { wire: wire.text, readerContext, name: 'Acme', limitBytes: 1e8, isBuffered: !isStreamed };
  try {
    await readResponse<Chunk>(answer, how, {
      write(chunks) {
        exchange.start ??= chunks.find((chunk): chunk is StartChunk => chunk.type === 'start');
        exchange.finish ??= chunks.find((chunk): chunk is FinishChunk => chunk.type === 'finish');
        write(builder.build(chunks));
        return undefined;
      },
    });
  } catch (thrown) {
    const error = asGatewayError(thrown);
    if (text === '') throw error;
    exchange.error = error;
    write(builder.fail(error));
  }
  return isStreamed ? text + format.end : api.writeWhole(fold.response, accepted, exchange);
}

const PIECE_BYTES = 700;

const createBuilder = ({ request }: AcceptedBody, isStreamed: boolean): EventBuilder =>
  new EventBuilder(
    {
      base: () => createResponseObject(request, 'resp_1', 0, 'acme/one'),
      model: () => 'acme/one',
      settle(finish) {
        const counts = finish?.usage ?? usage({ inputTokens: 0, outputTokens: 0 });
        return {
          usage: writeUsage(counts, costOf(undefined, counts)),
          serviceTier: null,
          routerMetadata: undefined,
        };
      },
      now: () => 0,
      limitBytes: 1e9,
    },
    isStreamed,
  );
