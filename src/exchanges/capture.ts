import type { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { getTextWire } from '../providers/text-wire.ts';
import type { UpstreamRequest } from '../providers/wire.ts';
import { type Endpoint, settingsOf } from '../providers/provider.ts';
import type { UpstreamResponse } from '../providers/transport.ts';
import { cutHeader, type Recording } from './recording.ts';

/** A request to a provider and its response, including secrets. */
export interface Exchange {
  sent: UpstreamRequest;
  /** Names in lower case. */
  sentHeaders: Record<string, string>;
  answer: Recording;
  /** Why the response is incomplete. Its head states the same reason. */
  cut: string | undefined;
}

export interface CaptureOptions {
  stream: boolean;
  /** Bytes beyond this limit are cut off. */
  limitBytes: number;
  cancellation: Cancellation;
}

/**
 * Sends a request as the gateway does and keeps the response unchanged: its status, headers and bytes.
 *
 * @throws {GatewayError} if the wire cannot express the request, or if there was no response
 */
export async function capture(
  endpoint: Endpoint,
  request: ResponseRequest,
  options: CaptureOptions,
): Promise<Exchange> {
  const { provider, upstreamModel } = endpoint;
  const { stream } = options;
  if (!provider.upstream) {
    const text = `${provider.name} runs inside this process, so there is no exchange to record.`;
    throw new GatewayError('invalid_request', text);
  }
  const sent = getTextWire(provider.wire).writeRequest(
    { ...request, stream },
    {
      endpoint: `${endpoint.model} at ${provider.name}`,
      upstreamModel,
      stream,
      dialect: settingsOf(endpoint, endpoint.provider.wire),
    },
  );
  const headers = [...provider.headersFor(provider.keys.take(), stream), ...Object.entries(sent.headers ?? {}).flat()];
  const body = Buffer.from(JSON.stringify(sent.body));
  const answer = await provider.upstream.send(sent.path, headers, body, options.cancellation);
  const { bytes, cut } = await readAll(answer, options.limitBytes);
  return {
    sent,
    sentHeaders: readPairs(headers),
    answer: { status: answer.status, headers: headersOf(answer, bytes, cut), body: bytes },
    cut,
  };
}

async function readAll(
  answer: UpstreamResponse,
  limitBytes: number,
): Promise<{ bytes: Buffer; cut: string | undefined }> {
  const pieces: Buffer[] = [];
  let length = 0;
  let cut: string | undefined;
  try {
    await answer.each({
      write(batch) {
        for (const piece of batch) {
          pieces.push(piece.subarray(0, limitBytes - length));
          length = Math.min(limitBytes, length + piece.length);
          if (length < limitBytes) continue;
          cut = `The response continued after ${limitBytes} bytes (upstream_body_limit).`;
          answer.release();
          break;
        }
        return undefined;
      },
    });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    cut = error.message;
  }
  return { bytes: Buffer.concat(pieces), cut };
}

/** Removes the headers about the body's encoding, because the body is kept decoded. */
function headersOf(answer: UpstreamResponse, body: Buffer, cut: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value === undefined) continue;
    const isLength = name === 'content-length';
    if (isLength && cut !== undefined) continue;
    headers[name] = isLength ? String(body.length) : [value].flat().join(', ');
  }
  delete headers['content-encoding'];
  if (cut !== undefined) headers[cutHeader] = cut;
  return headers;
}

/** Reads a flat list of names and values. */
function readPairs(list: readonly string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (let at = 0; at < list.length; at += 2) pairs[list[at]!.toLowerCase()] = list[at + 1]!;
  return pairs;
}
