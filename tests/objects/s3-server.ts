import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What happens to one request instead of a correct response. `lose`: it has its effect, but no response. */
export type S3Failure = { status: number; code?: string; retryAfter?: string } | 'cut' | 'hang' | 'lose' | 'refuse';

export interface S3Request {
  method: string;
  /** Of the object, decoded. Undefined: the bucket. */
  name: string | undefined;
  query: URLSearchParams;
}

export interface TestS3Server extends AsyncDisposable {
  url: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | undefined;
  /** All requests with a valid signature. */
  requests: S3Request[];
  objects: Map<string, StoredBytes>;
  uploads: Map<string, Upload>;
  /** Decides about each request with a valid signature. */
  fail: (request: S3Request) => S3Failure | undefined;
  /** Maximum keys of a page, whatever the client requests. */
  page: number;
  /** Whether it sends whole objects only. */
  ignoresRanges: boolean;
}

interface StoredBytes {
  bytes: Buffer;
  modifiedAt: Date;
  metadata: Record<string, string>;
}

interface Upload {
  name: string;
  startedAt: Date;
  metadata: Record<string, string>;
  parts: Map<number, StoredBytes>;
}

const MIN_PART_BYTES = 5 * 1024 * 1024;

/**
 * Starts an S3 server in this process, for one bucket with path-style URLs. It is stricter than most: it verifies each
 * signature, and rejects names that some servers change. It sorts by bytes.
 */
export async function startS3Server(options: { sessionToken?: string } = {}): Promise<TestS3Server> {
  const server = createServer((request, response) => {
    serve(lab, request, response).catch((error: unknown) => {
      if (error instanceof S3Problem) return answer(response, error.status, error.xml, {});
      response.destroy(error as Error); // the client reports that the connection has ended
    });
  });
  const lab: TestS3Server = {
    url: '',
    bucket: 'bucket',
    region: 'test-1',
    accessKeyId: 'TESTKEY',
    secretAccessKey: 'secret/of+the test',
    sessionToken: options.sessionToken,
    requests: [],
    objects: new Map(),
    uploads: new Map(),
    fail: () => undefined,
    page: 1000,
    ignoresRanges: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  lab.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return lab;
}

class S3Problem extends Error {
  readonly status: number;
  readonly xml: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.xml = writeXml(`<Error><Code>${code}</Code><Message>A problem of the test.</Message></Error>`);
  }
}

const writeXml = (xml: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n${xml}`;

function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { 'content-length': String(Buffer.byteLength(body)), ...headers });
  response.end(body);
}

async function serve(lab: TestS3Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  const [path = '', search = ''] = (request.url ?? '').split('?', 2);
  verify(lab, request, path, search, body);
  const method = request.method!;
  const [, bucket = '', ...segments] = path.split('/');
  if (decodeURIComponent(bucket) !== lab.bucket) throw new S3Problem(404, 'NoSuchBucket');
  const name = segments.length === 0 ? undefined : segments.map(decodeURIComponent).join('/');
  if (name !== undefined) checkName(name);
  const call: S3Request = { method, name, query: new URLSearchParams(search) };
  lab.requests.push(call);

  const failure = lab.fail(call);
  if (failure === 'hang') return;
  if (failure === 'refuse') return void request.socket.resetAndDestroy();
  if (typeof failure === 'object') {
    const { status, code, retryAfter } = failure;
    const xml = code === undefined ? 'no XML' : new S3Problem(status, code).xml;
    return answer(response, status, method === 'HEAD' ? '' : xml, retryAfter ? { 'retry-after': retryAfter } : {});
  }
  const {
    status = 200,
    content = '',
    headers = {},
  } = name === undefined ? run(lab, call) : runOn(lab, call, name, request, body);
  if (failure === 'lose') return void request.socket.resetAndDestroy();
  if (failure === 'cut') {
    const bytes = Buffer.from(content);
    response.writeHead(status, { 'content-length': String(bytes.length), ...headers });
    response.write(bytes.subarray(0, bytes.length / 2), () => request.socket.destroy());
    return;
  }
  answer(response, status, method === 'HEAD' ? '' : content, headers);
}

/** Names that this server would store, but others may not. */
function checkName(name: string): void {
  if (Buffer.byteLength(name) > 1024 || /[\0- \x7f]|\/\/|^\/|\/$/.test(name))
    throw new S3Problem(400, 'InvalidArgument');
  if (name.split('/').some((segment) => segment === '.' || segment === '..'))
    throw new S3Problem(400, 'InvalidArgument');
}

interface Outcome {
  status?: number;
  content?: string | Buffer;
  headers?: Record<string, string>;
}

/** Runs a call on the bucket. */
function run(lab: TestS3Server, { method, query }: S3Request): Outcome {
  if (method !== 'GET') throw new S3Problem(405, 'MethodNotAllowed');
  const prefix = query.get('prefix') ?? '';
  const max = Math.min(Number(query.get('max-keys') ?? query.get('max-uploads') ?? 1000), lab.page);
  if (query.get('encoding-type') !== 'url') throw new S3Problem(400, 'InvalidArgument');
  if (query.has('uploads')) {
    const after = query.get('upload-id-marker');
    const all = [...lab.uploads].filter(([, { name }]) => name.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1));
    const rest = after === null ? all : all.filter(([id]) => id > after);
    const page = rest.slice(0, max);
    const entries = page.map(
      ([id, { name, startedAt }]) =>
        `<Upload><Key>${encodeURIComponent(name)}</Key><UploadId>${id}</UploadId><Initiated>${startedAt.toISOString()}</Initiated></Upload>`,
    );
    const [last] = page.at(-1) ?? [''];
    return {
      content: writeXml(
        `<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType><IsTruncated>${rest.length > max}</IsTruncated><NextKeyMarker>${encodeURIComponent(lab.uploads.get(last)?.name ?? '')}</NextKeyMarker><NextUploadIdMarker>${last}</NextUploadIdMarker>${entries.join('')}</ListMultipartUploadsResult>`,
      ),
    };
  }
  if (query.get('list-type') !== '2') throw new S3Problem(501, 'NotImplemented');
  const after = Buffer.from(query.get('start-after') ?? '');
  const rest = [...lab.objects]
    .map(([name, object]) => ({ name, key: Buffer.from(name), ...object }))
    .filter(({ name, key }) => name.startsWith(prefix) && Buffer.compare(key, after) > 0)
    .sort((a, b) => Buffer.compare(a.key, b.key));
  const entries = rest
    .slice(0, max)
    .map(
      ({ name, bytes, modifiedAt }) =>
        `<Contents><Key>${encodeURIComponent(name)}</Key><LastModified>${modifiedAt.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`,
    );
  return {
    content: writeXml(
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType><IsTruncated>${rest.length > max}</IsTruncated>${entries.join('')}</ListBucketResult>`,
    ),
  };
}

/** Runs a call on an object. */
function runOn(
  lab: TestS3Server,
  { method, query }: S3Request,
  name: string,
  { headers }: IncomingMessage,
  bytes: Buffer,
): Outcome {
  const metadata = Object.fromEntries(
    Object.entries(headers).flatMap(([key, value]) => (key.startsWith('x-amz-meta-') ? [[key, String(value)]] : [])),
  );
  const uploadId = query.get('uploadId');
  if (uploadId !== null) return runUpload(lab, { method, query, name }, uploadId, bytes);
  if (method === 'POST' && query.has('uploads')) {
    const id = randomUUID();
    lab.uploads.set(id, { name, metadata, startedAt: new Date(), parts: new Map() });
    return {
      content: writeXml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`),
    };
  }
  if (method === 'PUT') {
    lab.objects.set(name, { bytes, metadata, modifiedAt: new Date() });
    return { headers: { etag: tagOf(bytes) } };
  }
  if (method === 'DELETE') {
    lab.objects.delete(name);
    return { status: 204 };
  }
  const found = lab.objects.get(name);
  if (!found) throw new S3Problem(404, 'NoSuchKey');
  const about = { 'last-modified': found.modifiedAt.toUTCString(), etag: tagOf(found.bytes), ...found.metadata };
  const total = found.bytes.length;
  if (headers.range === undefined || lab.ignoresRanges)
    return { content: found.bytes, headers: { 'content-length': String(total), ...about } };
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d*)$/.exec(headers.range) ?? [];
  const end = last === '' ? total : Math.min(Number(last) + 1, total);
  if (Number(first) >= total || end <= Number(first)) throw new S3Problem(416, 'InvalidRange');
  return {
    status: 206,
    content: found.bytes.subarray(Number(first), end),
    headers: { ...about, 'content-range': `bytes ${first}-${end - 1}/${total}` },
  };
}

function runUpload(lab: TestS3Server, { method, query, name }: S3Request, id: string, body: Buffer): Outcome {
  const upload = lab.uploads.get(id);
  if (!upload || upload.name !== name) throw new S3Problem(404, 'NoSuchUpload');
  if (method === 'DELETE') {
    lab.uploads.delete(id);
    return { status: 204 };
  }
  if (method === 'PUT') {
    const number = Number(query.get('partNumber'));
    if (!(number >= 1 && number <= 10_000)) throw new S3Problem(400, 'InvalidArgument');
    upload.parts.set(number, { bytes: body, modifiedAt: new Date(), metadata: {} });
    return { headers: { etag: tagOf(body) } };
  }
  if (method === 'GET') {
    const marker = Number(query.get('part-number-marker') ?? 0);
    const rest = [...upload.parts].filter(([number]) => number > marker).sort(([a], [b]) => a - b);
    const page = rest.slice(0, lab.page);
    const parts = page.map(
      ([number, { modifiedAt }]) =>
        `<Part><PartNumber>${number}</PartNumber><LastModified>${modifiedAt.toISOString()}</LastModified></Part>`,
    );
    return {
      content: writeXml(
        `<ListPartsResult><IsTruncated>${rest.length > page.length}</IsTruncated><NextPartNumberMarker>${page.at(-1)?.[0] ?? 0}</NextPartNumberMarker>${parts.join('')}</ListPartsResult>`,
      ),
    };
  }
  const named = [
    ...body.toString().matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>&quot;(\w+)&quot;<\/ETag><\/Part>/g),
  ];
  const parts = named.map(([, number, tag]) => {
    const part = upload.parts.get(Number(number));
    if (!part || tagOf(part.bytes) !== `"${tag}"`) throw new S3Problem(400, 'InvalidPart');
    return part.bytes;
  });
  if (parts.length === 0) throw new S3Problem(400, 'MalformedXML');
  if (parts.slice(0, -1).some(({ length }) => length < MIN_PART_BYTES)) throw new S3Problem(400, 'EntityTooSmall');
  lab.objects.set(name, { bytes: Buffer.concat(parts), metadata: upload.metadata, modifiedAt: new Date() });
  lab.uploads.delete(id);
  return { content: writeXml('<CompleteMultipartUploadResult><ETag>"x-1"</ETag></CompleteMultipartUploadResult>') };
}

const tagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;

const encode = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[A-Za-z0-9._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Verifies a request by AWS Signature Version 4, from what was sent.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
function verify(lab: TestS3Server, request: IncomingMessage, path: string, search: string, body: Buffer): void {
  const { headers, method } = request;
  const [, key = '', day = '', region = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  if (key !== lab.accessKeyId || region !== lab.region) throw new S3Problem(403, 'AccessDenied');
  if (headers['x-amz-security-token'] !== lab.sessionToken) throw new S3Problem(403, 'InvalidToken');
  const signed = names.split(';');
  const needed = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))];
  if (signed.join() !== signed.toSorted().join() || needed.some((name) => !signed.includes(name))) {
    throw new S3Problem(403, 'AccessDenied');
  }
  const date = String(headers['x-amz-date']);
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  const skew = Math.abs(Date.now() - Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`));
  if (!(skew < 15 * 60_000) || !date.startsWith(day)) throw new S3Problem(403, 'RequestTimeTooSkewed');
  if (headers['x-amz-content-sha256'] !== sha256(body)) throw new S3Problem(400, 'XAmzContentSHA256Mismatch');
  // What was sent must already be encoded as the signature requires.
  const uri = path
    .split('/')
    .map((part) => encode(decodeURIComponent(part)))
    .join('/');
  if (uri !== path) throw new S3Problem(400, 'InvalidURI');
  const pairs = search === '' ? [] : search.split('&').map((pair) => pair.split('=', 2) as [string, string?]);
  const query = pairs
    .map(([name, value = '']) => {
      const pair = `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`;
      if (pair !== `${name}=${value}`) throw new S3Problem(400, 'InvalidURI');
      return pair;
    })
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .join('&');
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [method, uri, query, lines, names, sha256(body)].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const signingKey = hmac(hmac(hmac(hmac(`AWS4${lab.secretAccessKey}`, day), region), 's3'), 'aws4_request');
  if (!timingSafeEqual(hmac(signingKey, text), Buffer.from(signature, 'hex'))) {
    throw new S3Problem(403, 'SignatureDoesNotMatch');
  }
}
