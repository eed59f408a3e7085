import { PassThrough, Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Cancellation } from '../../domain/cancellation.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { asGatewayError, type ErrorKind, GatewayError } from '../../domain/errors.ts';
import type { Sink } from '../../domain/sink.ts';
import { sendContinue } from '../../http/expect.ts';
import { ClientWatch } from '../../http/watch-client.ts';
import type { FileVendor } from './read-file-query.ts';

/** A request for the files API of a vendor. */
export interface VendorRequest {
  method: 'GET' | 'POST' | 'DELETE';
  /** From `/files` on, with its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Only of a POST. */
  body: Transform | undefined;
}

export interface VendorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  each(sink: Sink<Buffer>): Promise<void>;
  release(): void;
}

/** An account at a vendor with the key of a workspace. */
export interface VendorAccount {
  readonly name: string;
  /** @throws {GatewayError} */
  send(request: VendorRequest, cancellation: Cancellation): Promise<VendorResponse>;
  /** Masks keys in a text of the vendor. */
  mask(text: string): string;
}

export interface PassThroughParts {
  /** @returns undefined if the workspace has no key of its own at the vendor */
  findVendorAccount: (vendor: FileVendor, workspaceId: string) => VendorAccount | undefined;
  /** Maximum bytes of a body. */
  maxBytes: () => number;
  requestMs: () => number;
}

/** Request headers of the files APIs that are passed on. */
const passedOn = ['content-type', 'content-length', 'anthropic-version', 'anthropic-beta', 'openai-beta'];
/** Response headers that clients get. */
const returned = ['content-type', 'content-length', 'content-disposition'];

/**
 * Passes a request on to the files API of a vendor, with the key of the workspace, and returns the response unchanged.
 *
 * @throws {GatewayError} `invalid_request` if the workspace has no account there; failures of the vendor
 * @see docs/reference/files.md#files-of-providers
 */
export async function passFileRequest(
  parts: PassThroughParts,
  vendor: FileVendor,
  workspaceId: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const account = parts.findVendorAccount(vendor, workspaceId);
  if (!account) {
    const message = `the workspace has no key of its own at ${vendor}. Add a provider with the id ${vendor}, or with same_as: ${vendor}, and with workspace to the configuration.`;
    throw new GatewayError('invalid_request', `provider: ${message}`, {
      metadata: { issues: [{ path: 'provider', message }] },
    });
  }
  const client = new ClientWatch(reply.raw, { ms: parts.requestMs(), setting: 'timeouts.request_ms' });
  try {
    const response = await account.send(describe(request, parts.maxBytes(), client.cancellation), client.cancellation);
    if (response.status >= 300) throw await readFailure(account, response);
    const headers = returned.flatMap((name) => {
      const value = response.headers[name];
      if (name === 'content-length' && response.headers['content-encoding'] !== undefined) return []; // it is decoded
      return typeof value === 'string' ? [[name, value]] : [];
    });
    reply
      .code(response.status)
      .headers({ 'content-type': 'application/octet-stream', ...Object.fromEntries(headers) })
      .header('x-content-type-options', 'nosniff');
    return stream(response, () => client.stop());
  } catch (error) {
    client.stop();
    throw error;
  }
}

function describe(request: FastifyRequest, maxBytes: number, cancellation: Cancellation): VendorRequest {
  const { raw } = request;
  const url = new URL(request.url, 'http://gateway');
  url.searchParams.delete('provider');
  url.searchParams.delete('workspace_id');
  const sent = passedOn.flatMap((name) => {
    const value = raw.headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const hasBody = request.method === 'POST';
  if (hasBody) checkSize(Number(raw.headers['content-length'] ?? 0), maxBytes);
  return {
    method: request.method as VendorRequest['method'], // the table of routes has no others
    path: writePath(request) + url.search,
    headers: Object.fromEntries(sent.filter(([name]) => hasBody || !name!.startsWith('content-'))),
    body: hasBody ? count(request, maxBytes, cancellation) : undefined,
  };
}

/** Writes the path at the vendor. @throws {GatewayError} for an id that could name another path */
function writePath(request: FastifyRequest): string {
  const { id } = request.params as { id?: string };
  if (id === undefined) return '/files';
  if (!/^[\w-]{1,200}$/.test(id)) {
    throw new GatewayError('not_found', `There is no file ${JSON.stringify(id.slice(0, 100))}: it is not an id.`);
  }
  return `/files/${id}${request.routeOptions.url?.endsWith('/content') ? '/content' : ''}`;
}

function checkSize(bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return;
  throw new GatewayError('payload_too_large', `The body is larger than ${maxBytes} bytes (files.max_bytes).`);
}

/** Returns the body, which fails if it is too large. */
function count({ raw }: FastifyRequest, maxBytes: number, cancellation: Cancellation): Transform {
  let bytes = 0;
  const body = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length;
      try {
        checkSize(bytes, maxBytes);
        done(null, piece);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  body.on('error', (error) => {
    raw.unpipe(body);
    if (error instanceof GatewayError) cancellation.cancel(error);
  });
  raw.once('close', () => {
    if (!raw.complete) body.destroy(new GatewayError('client_closed', 'The client disconnected.'));
  });
  sendContinue(raw);
  return raw.pipe(body);
}

/** Returns the body of a response. A slow client slows the vendor down. */
function stream(response: VendorResponse, onEnd: () => void): PassThrough {
  const out = new PassThrough();
  out.once('close', () => {
    onEnd();
    response.release();
  });
  response
    .each({
      write(batch) {
        for (const piece of batch) out.write(piece);
        if (!out.writableNeedDrain) return undefined;
        return new Promise((resolve) => {
          out.once('drain', resolve);
          out.once('close', resolve);
        });
      },
    })
    .then(
      () => out.end(),
      (error) => out.destroy(asGatewayError(error)),
    );
  return out;
}

/** Maximum bytes of an error of a vendor. */
const MAX_ERROR_BYTES = 64 * 1024;

const kinds: Readonly<Record<number, ErrorKind>> = {
  400: 'upstream_rejected',
  404: 'not_found',
  413: 'payload_too_large',
  429: 'rate_limited',
};

/** Returns the error for a failed request. Its message is that of the vendor. */
async function readFailure(account: VendorAccount, response: VendorResponse): Promise<GatewayError> {
  const { status } = response;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    await response.each({
      write(batch) {
        for (const piece of batch) bytes += pieces.push(piece) && piece.length;
        if (bytes > MAX_ERROR_BYTES) response.release();
        return undefined;
      },
    });
  } catch {
    // the status is enough
  }
  const message = account.mask(readMessage(Buffer.concat(pieces).toString())).slice(0, 500);
  const kind = kinds[status] ?? 'upstream_failed';
  return new GatewayError(kind, `${account.name} responded with ${status}${message === '' ? '.' : `: ${message}`}`);
}

function readMessage(body: string): string {
  try {
    const { error } = parseJson(body) as { error?: { message?: unknown } };
    return typeof error?.message === 'string' ? error.message : '';
  } catch {
    return '';
  }
}
