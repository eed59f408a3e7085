import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';

/** A span of OTLP in JSON, with its attributes as a plain object. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 2: server, 3: client. */
  kind: number;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, unknown>;
  /** 2: error. */
  status: { code?: number; message?: string };
  /** Attributes of the program that created it. */
  resource: Record<string, unknown>;
}

interface WireValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: WireValue[] };
}
type WireAttributes = { key: string; value: WireValue }[];
interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: WireAttributes;
  status: { code?: number; message?: string };
}
interface WireBody {
  resourceSpans: { resource: { attributes: WireAttributes }; scopeSpans: { spans: WireSpan[] }[] }[];
}

function readValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: WireValue): unknown {
  if (arrayValue) return arrayValue.values.map(readValue);
  return stringValue ?? doubleValue ?? boolValue ?? (intValue === undefined ? undefined : Number(intValue));
}

const readAttributes = (list: WireAttributes) =>
  Object.fromEntries(list.map(({ key, value }) => [key, readValue(value)]));

/** Starts a collector on loopback with scripted responses; `spans` are the received ones. */
export async function startReceiver(): Promise<{ upstream: ScriptedUpstream; url: string; spans(): ReceivedSpan[] }> {
  const upstream = await startUpstream();
  upstream.always(json({}));
  return {
    upstream,
    url: upstream.url.replace(/\/v1$/, ''),
    spans: () =>
      upstream.requests
        .flatMap(({ body }) => (body as WireBody).resourceSpans)
        .flatMap(({ resource, scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) =>
            spans.map((span) => ({
              ...span,
              startNs: BigInt(span.startTimeUnixNano),
              endNs: BigInt(span.endTimeUnixNano),
              attributes: readAttributes(span.attributes),
              resource: readAttributes(resource.attributes),
            })),
          ),
        ),
  };
}
