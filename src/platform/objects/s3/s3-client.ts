import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { Agent, Dispatcher } from 'undici';
import { S3Error } from './s3-error.ts';
import { findXmlText, readS3Xml, type XmlElement } from './s3-xml.ts';

/** A bucket and the right to use it. */
export interface S3Place {
  /** URL of the service, such as `https://s3.eu-central-1.amazonaws.com`. */
  endpoint: string;
  region: string;
  bucket: string;
  /** Names of objects begin with it. Empty, or ends with `/`. */
  prefix: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  /** Whether the path begins with the bucket. Otherwise the host name does. */
  pathStyle: boolean;
}

export interface S3Times {
  connectMs: number;
  /** Maximum idle time before a response, and within it. */
  idleMs: number;
  /** Time limit of one attempt to send a request and to receive the headers of its response. */
  tryMs: number;
  /** Tries of a call. */
  tries: number;
  /** Mean wait before the second try. Each further wait is twice as long. */
  waitMs: number;
}

export const s3Times: S3Times = { connectMs: 5000, idleMs: 30_000, tryMs: 120_000, tries: 4, waitMs: 100 };

export interface S3Call {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Name of the object. Absent: the bucket. */
  name?: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
  /** Codes of the server, or statuses without a code, that are not failures. */
  expects?: readonly (string | number)[];
}

export interface S3Response {
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  /** Read it to its end, or destroy it. It is empty after an expected failure. */
  body: Dispatcher.ResponseData['body'];
  /** Number of the try. From 2 on, an earlier one may have had its effect. */
  tries: number;
}

/** Longest body of a response that is read as a whole: a listing of 1,000 long names. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;
/** Longest wait that a server may request. */
const MAX_WAIT_MS = 5000;
const MAX_CONNECTIONS = 256;
const temporaryStatuses = new Set([408, 429, 500, 502, 503, 504]);
/** Reasons with any status. */
const temporaryCodes = new Set(['RequestTimeout', 'InternalError', 'SlowDown', 'ServiceUnavailable']);

/** Loads the client for the first call. Most commands that open a bucket make none. */
async function createAgent({ connectMs, idleMs }: S3Times): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({
    connect: { timeout: connectMs },
    connections: MAX_CONNECTIONS,
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
    keepAliveTimeout: 10_000,
    allowH2: false,
  });
}

/** Signs requests with AWS Signature Version 4, sends them, and repeats them after outages. */
export class S3Client {
  private readonly place: S3Place;
  private readonly times: S3Times;
  private agent: Promise<Agent> | undefined;
  private readonly signingKeys = new Map<string, ArrayBuffer>();

  constructor(place: S3Place, times: S3Times) {
    this.place = place;
    this.times = times;
  }

  /**
   * Makes a call. All calls may have their effect twice.
   *
   * @param read reads the response. If it fails, the call is repeated, too.
   * @throws {S3Error}
   */
  async send<Result>(call: S3Call, read: (response: S3Response) => Result | Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      try {
        return await read(await this.exchange(call, tries));
      } catch (cause) {
        const error = cause instanceof S3Error ? cause : this.explain(call, cause);
        if (!error.isTemporary || tries >= this.times.tries) throw error;
        const backoffMs = this.times.waitMs * 2 ** (tries - 1) * (0.5 + Math.random());
        await delay(Math.min(Math.max(backoffMs, error.retryAfterMs), MAX_WAIT_MS));
      }
    }
  }

  /** Makes a call whose result is XML. @throws {S3Error} */
  async sendForXml(call: S3Call): Promise<XmlElement> {
    return await this.send(call, async ({ body, status, headers }) => {
      const xml = readS3Xml(await readText(body));
      // The completion of an upload can fail after its status 200 was sent.
      if (xml.name === 'Error') throw this.createError(call, { status, headers }, xml);
      return xml;
    });
  }

  private async exchange(call: S3Call, tries: number): Promise<S3Response> {
    const { method, name, query, headers: own, body } = call;
    const url = this.locate(name, query);
    const signed = await this.sign(method, url, { ...own, 'x-amz-content-sha256': hash('sha256', body ?? '') });
    using limit = new TimeLimit(this.times.tryMs);
    this.agent ??= createAgent(this.times);
    const sent = await (await this.agent).request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: { ...Object.fromEntries(signed), 'accept-encoding': 'identity', 'user-agent': 'headgate' },
      body: body ?? (method === 'PUT' || method === 'POST' ? Buffer.alloc(0) : null),
      signal: limit.signal,
    });
    sent.body.on('error', () => {}); // the body may not be read to its end
    const { statusCode: status } = sent;
    const headers = Object.fromEntries(
      Object.entries(sent.headers).map(([key, value]) => [key, Array.isArray(value) ? value[0] : value]),
    );
    const response = { status, headers, body: sent.body, tries };
    if (status >= 200 && status < 300) return response;
    const failure = await readText(sent.body)
      .then(readS3Xml)
      .catch(() => undefined);
    const error = this.createError(call, response, failure);
    if (call.expects?.includes(error.code ?? status)) return response;
    throw error;
  }

  private async sign(method: string, url: URL, headers: Record<string, string>): Promise<Headers> {
    const { region, accessKeyId, secretAccessKey, sessionToken } = this.place;
    if (this.signingKeys.size > 1) this.signingKeys.clear(); // one for each day
    const { headers: signed } = await new AwsV4Signer({
      method,
      url: url.href,
      headers,
      service: 's3',
      region,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      cache: this.signingKeys,
    }).sign();
    return signed;
  }

  private locate(name: string | undefined, query: Readonly<Record<string, string>> = {}): URL {
    const { endpoint, bucket, pathStyle } = this.place;
    const base = new URL(endpoint);
    if (!pathStyle) base.host = `${bucket}.${base.host}`;
    const segments = [...(pathStyle ? [bucket] : []), ...(name?.split('/') ?? [])];
    const parameters = Object.entries(query).map(([key, value]) => `${encode(key)}=${encode(value)}`);
    const path = `${base.pathname.replace(/\/+$/, '')}/${segments.map(encode).join('/')}`;
    return new URL(`${base.origin}${path}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`);
  }

  private createError(
    call: S3Call,
    { status, headers }: Pick<S3Response, 'status' | 'headers'>,
    xml: XmlElement | undefined,
  ): S3Error {
    const code = xml?.name === 'Error' ? findXmlText(xml, 'Code')?.slice(0, 100) : undefined;
    const reason = code === undefined ? status : `${status} ${code}`;
    const retryAfter = headers['retry-after'] ?? '';
    return new S3Error(`${this.describe(call)} failed: the server responded with ${reason}.`, {
      status,
      ...(code !== undefined && { code }),
      isTemporary: temporaryStatuses.has(status) || (code !== undefined && temporaryCodes.has(code)),
      retryAfterMs: /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0,
    });
  }

  /** Describes an error of undici or of a socket. */
  private explain(call: S3Call, cause: unknown): S3Error {
    const { code, name } = cause as NodeJS.ErrnoException; // both kinds have a code
    const reason = code ?? name;
    return new S3Error(`${this.describe(call)} failed: ${reason}.`, { code: reason, isTemporary: true, cause });
  }

  /** Names of objects are ids, so the bucket says enough. */
  private describe({ method, name }: S3Call): string {
    const { bucket, endpoint } = this.place;
    const what = name === undefined ? 'the bucket' : 'an object of the bucket';
    return `${method} of ${what} ${bucket} at ${new URL(endpoint).host}`;
  }
}

/** Percent-encodes as the signature requires. `encodeURIComponent` leaves five characters. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);

/** @throws {S3Error} if it is too long, or an error of the connection */
async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > MAX_TEXT_BYTES) throw new S3Error('The S3 server sent a response that is too long.');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Aborts its signal after a time, unless it is disposed before. */
class TimeLimit implements Disposable {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(limitMs: number) {
    const reason = Object.assign(new Error(`no response within ${limitMs} ms`), { code: 'ETIMEDOUT' });
    this.timer = setTimeout(() => this.controller.abort(reason), limitMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
  }
}
