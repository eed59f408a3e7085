import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Caller } from '../domain/caller.ts';
import { GatewayError } from '../domain/errors.ts';
import { TURN_LENGTH } from '../domain/turn-length.ts';
import { createId, createTimedId } from '../domain/ids.ts';
import { adviseOnPath } from './advise-on-path.ts';
import type { BodyBudget } from './body-budget.ts';
import type { ErrorDialect, FailedRequest } from './error-dialect.ts';
import { readEdgeError, writeErrorEnvelope } from './error-envelope.ts';
import { checkExpectation, isAwaitingContinue, routeExpectations } from './expect.ts';
import { addDeployment } from './azure-paths.ts';
import { createPathFinder, findPathAbove } from './find-path.ts';
import { drainBody, isBodyDrained } from './drain-body.ts';
import { findServedUrl } from './served-url.ts';
import type { OpenRequests } from './open-requests.ts';
import { rateHeaderNames } from './rate-headers.ts';
import { BodyShare, readBody } from './read-body.ts';
import { isUncompressed } from './decode-body.ts';
import { readSentKeys } from './read-sent-keys.ts';
import { isForm } from './parse-form.ts';
import { readJson } from './read-json.ts';
import { checkHost } from './regional-hosts.ts';
import { SocketRequest } from './socket-exchange.ts';
import { routeUpgrade } from './upgrades.ts';
import {
  admittedKeyKinds,
  type BodyLimit,
  type Permission,
  type Route,
  type RouteSetting,
  type WatchResponse,
} from './routes.ts';

/** Characters of a segment of a path: the id of a container file has 4 for every 3 bytes of its path. */
const MAX_PARAM_LENGTH = 6000;

/** Bytes of all headers. Cookies of a login and claims that a proxy adds exceed the 16 KiB of Node. */
const MAX_HEADER_BYTES = 64 * 1024;

const jsonType = /^application\/json\b/i;

/**
 * Content types whose body is JSON. Programs that send no type, or that of a plain text or of bytes, mean JSON on routes that take
 * nothing else. A browser still asks before it sends a key.
 */
const jsonTypes = /^(?:$|application\/(?:[\w.-]+\+)?json\b|text\/(?:json|plain)\b|application\/octet-stream\b)/i;

type ParserDone = (error: Error | null, body?: unknown) => void;

export interface EdgeOptions {
  routes: readonly Route[];
  /**
   * @param sent the headers with a key, in the form of `authorization`
   * @returns a promise if the key is not known yet
   * @throws {GatewayError} `authentication`
   */
  identify: (sent: readonly string[], connection: object) => Caller | Promise<Caller>;
  /**
   * Identifies a request without a key by its cookie. @returns undefined if it has none. @throws {GatewayError} as a rejection
   */
  identifySession?: (request: FastifyRequest, reply: FastifyReply) => Promise<Caller> | undefined;
  /** Whether a shutdown has begun. Connections then close after their response. */
  isDraining: () => boolean;
  /** Whether new requests get a 503. */
  isClosing: () => boolean;
  /** Whether a connection belongs to the agent of an intern, whose requests have its key. */
  isAgent?: (connection: object) => boolean;
  /** Registers requests with a key, until the response is sent or the client has disconnected. */
  open: OpenRequests;
  /** Host names that other servers have. */
  hosts?: OtherHosts;
  /** Bytes. */
  bodyLimit: number;
  /** The memory for the bodies of all requests in flight. */
  bodies: BodyBudget;
  /** Milliseconds for a client to send its complete request. */
  receiveMs: number;
  /** Host names that reject some routes. */
  regionalHosts: () => readonly string[];
  /** Empty: CORS is off. */
  corsOrigins: readonly string[];
  /** Writes the errors of routes without a dialect. Absent: as the error envelope. */
  writeError?: ErrorDialect;
  /** Writes the errors of paths that belong to no route, and of requests that are no HTTP. Absent: as `writeError`. */
  writeUnknownError?: ErrorDialect;
  /** @returns the time of arrival, in performance.now(), of a request that is seen now */
  receivedAt: () => number;
  /** Called for each request with an error that has no run. */
  onRejected?: (request: FastifyRequest, failure: GatewayError) => void;
  /** Called with the function that routes a request. */
  onRouting?: (route: (request: IncomingMessage, response: ServerResponse) => void) => void;
  /** Called once for each route and for unknown paths. @returns a function called for every response that has ended */
  watchRoute: (method: string, path: string) => WatchResponse;
}

/** Serves requests to some host names in another way. */
export interface OtherHosts {
  /** Whether a `Host` header is one of theirs. */
  isOwn(host: string | undefined): boolean;
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

const requestIdShape = /^[\w.:-]{1,128}$/;

/** Fastify gets no schemas, because their compilers would take 3 MB and 0.02 s. */
function noSchemas(): never {
  throw new Error('A route has a schema. Validate the body in its handler.');
}

/** The HTTP server: ids, keys, limits and the error envelope around the table of routes. */
export async function createServer(options: EdgeOptions): Promise<FastifyInstance> {
  const { hosts, isAgent = () => false } = options;
  /** Whether a request is for the host name of an intern. Agents reach no other intern in this way. */
  const isForHost = ({ headers, socket }: IncomingMessage): boolean =>
    hosts?.isOwn(headers.host) === true && !isAgent(socket);
  const findPath = createPathFinder(options.routes);
  const { writeError = writeErrorEnvelope, writeUnknownError = writeError } = options;
  const findErrors = (raw: IncomingMessage): ErrorDialect => {
    const path = pathOf(raw.url);
    const known = findPath(path) ?? findPathAbove(path, findPath);
    return known ? (known.errors ?? writeError) : writeUnknownError;
  };
  /** Whether a request is for a route that upgrades its connection. */
  const isForSocket = (raw: IncomingMessage): boolean =>
    raw.method === 'GET' &&
    raw.headers.upgrade?.toLowerCase() === 'websocket' &&
    findPath(pathOf(findServedUrl(raw)))?.hasSocket === true;
  const app = fastify({
    logger: false,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    requestTimeout: options.receiveMs,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: options.receiveMs,
      headersTimeout: Math.min(60_000, options.receiveMs),
      // interval in which Node checks for slow requests
      connectionsCheckingInterval: Math.min(1000, Math.max(50, options.receiveMs / 4)),
      // Other requests with this header stay requests. Node before 24.9 does not ask: they are closed then.
      shouldUpgradeCallback: (raw) => isForHost(raw) || isForSocket(raw),
    },
    keepAliveTimeout: 620_000, // longer than that of load balancers, so that they close first: theopenco/llmgateway#1539
    return503OnClosing: false, // `isClosing` responds with our envelope
    forceCloseConnections: 'idle',
    requestIdHeader: false,
    genReqId: (raw) => {
      const sent = raw.headers['x-request-id'];
      return typeof sent === 'string' && requestIdShape.test(sent) ? sent : createId('req_');
    },
    clientErrorHandler: (error, socket) => rejectMalformedRequest(error, socket, writeUnknownError),
    // a path that cannot be decoded, before routes and hooks
    frameworkErrors: (error, request, reply) => {
      const message = `The path ${pathOf(request.raw.url).slice(0, 200)} is not valid: a % in it is not followed by two hex digits.`;
      const failure = new GatewayError('invalid_request', message, { cause: error });
      const { status, headers, body } = findErrors(request.raw)(failure, undefined, describeRequest(request));
      (reply as FastifyReply)
        .code(status)
        .headers({ 'x-generation-id': createTimedId('gen-'), 'x-request-id': request.id, ...headers })
        .send(body);
    },
    rewriteUrl: (raw) => (isForHost(raw) ? raw.url! : findServedUrl(raw)), // an intern has paths of its own
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, ignoreTrailingSlash: true },
  });
  app.decorateRequest('routeSetting');
  app.decorateRequest('generationId', '');
  app.decorateRequest('rawBody', undefined);
  app.decorateRequest('caller', undefined);
  app.decorateRequest('receivedAt', 0);
  app.decorateRequest('hasRun', false);
  app.decorateRequest('requestedModel', undefined);
  app.decorateRequest('isStreamed', false);
  app.decorateRequest('tags', undefined);
  app.decorateRequest('routerMetadata', undefined);
  app.decorateRequest('failure', undefined);
  app.decorateRequest('bodyShare', undefined);

  routeExpectations(app);

  const watchOther = options.watchRoute('any', 'other');
  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isForHost(request)) void hosts!.upgrade(request, socket, head);
    else if (isForSocket(request)) routeUpgrade(app.routing, request, socket, head);
    else socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  });
  options.onRouting?.(app.routing);
  app.addHook('onRequest', (request, reply, done) => {
    if (!isForHost(request.raw)) return done();
    reply.hijack();
    void hosts!.serve(request.raw, reply.raw);
  });
  // Before the key is read: a browser shows its script no error without the headers.
  if (options.corsOrigins.length > 0) await allowOrigins(app, options.corsOrigins);
  app.addHook('onRequest', (request, reply, done) => {
    if (options.isDraining()) reply.raw.shouldKeepAlive = false; // the client connects to another host
    request.receivedAt = options.receivedAt();
    request.generationId = createTimedId('gen-');
    reply.header('x-generation-id', request.generationId);
    reply.header('x-request-id', request.id);
    if (request.headers['anthropic-version'] !== undefined) reply.header('request-id', request.id);
    const isUnknown = request.is404 || request.routeOptions.url === ANY_PATH;
    request.routeSetting = isUnknown
      ? describeUnknown(request, findPath, findErrors)
      : (request.routeOptions.config as RouteSetting); // set when the route was added
    const { permission = 'none', isGlobal, isOffered, watch = watchOther } = request.routeSetting;
    const presence = watchClose(request, reply.raw, watch);
    const checkRoute = (): void => {
      if (isOffered?.() === false) throw new GatewayError('not_found', 'This gateway does not offer this route.');
      if (isGlobal) checkHost(request.headers.host, options.regionalHosts());
    };
    const enter = (caller?: Caller): void => {
      if (presence.isClosed) return; // while the key was looked up
      try {
        if (permission !== 'none') {
          request.caller = caller!;
          checkPermission(permission, caller!);
          if (caller!.internId !== undefined) checkInternRoute(request);
          checkRoute();
          if (options.isClosing()) {
            throw new GatewayError('unavailable', 'The gateway is shutting down; send the request to another one.', {
              retryAfterSeconds: 1,
            });
          }
          presence.end = options.open.begin();
        } else {
          if (isAgent(request.raw.socket)) checkInternRoute(request);
          checkRoute();
        }
        if (isUnknown) {
          if (tellMethods(request, reply, findPath)) return;
          throw notFound(request, reply, findPath); // before the body is read
        }
        checkExpectation(request.raw);
        done();
      } catch (error) {
        done(error as Error);
      }
    };
    if (permission === 'none') return enter();
    try {
      const sent = readSentKeys(request);
      const bySession = sent.length === 0 ? options.identifySession?.(request, reply) : undefined;
      const caller = bySession ?? options.identify(sent, request.raw.socket);
      if (caller instanceof Promise) caller.then(enter, done);
      else enter(caller);
    } catch (error) {
      done(error as Error);
    }
  });

  app.removeAllContentTypeParsers();
  const rejectType = ({ headers, routeSetting }: FastifyRequest): GatewayError => {
    const sent = String(headers['content-type'] ?? '').slice(0, 100) || 'missing';
    const kind = routeSetting.hasMediaTypeError ? 'unsupported_media_type' : 'invalid_request';
    const wanted = routeSetting.takesForms ? 'multipart/form-data or application/json' : 'application/json';
    return new GatewayError(kind, `Content-Type is ${sent}; send ${wanted}.`);
  };
  const readForm = (request: FastifyRequest, raw: IncomingMessage, done: ParserDone): void => {
    request.bodyShare = new BodyShare(options.bodies);
    readBody(raw, bodyLimitOf(request, options), request.bodyShare, (error, body) => {
      request.rawBody = body;
      done(error, undefined);
    });
  };
  const readJsonBody = (request: FastifyRequest, raw: IncomingMessage, done: ParserDone): void => {
    request.bodyShare = new BodyShare(options.bodies);
    if (request.raw instanceof SocketRequest) {
      takeBody(request.raw, request, done);
      return;
    }
    readBody(raw, bodyLimitOf(request, options), request.bodyShare, (error, body) => {
      if (error) return done(error, undefined);
      request.rawBody = body!; // present without an error
      // clients send a content type even without a body
      const hasNone = body!.length === 0 && (request.method === 'DELETE' || request.routeSetting.bodyIsOptional);
      if (hasNone) done(null, undefined);
      else
        parseBody(body!, (failure, value) => {
          addDeployment(request.raw, value);
          done(failure, value);
        });
    });
  };
  app.addContentTypeParser('*', (request, raw, done) => {
    const { headers, routeSetting } = request;
    try {
      if (routeSetting.readsBody) {
        rejectEncoding(headers['content-encoding']);
        return done(null, undefined);
      }
      if (routeSetting.takesForms && isForm(headers['content-type'])) return readForm(request, raw, done);
      // Programs send the content type of a form even without a body.
      if (routeSetting.bodyIsOptional && headers['content-length'] === '0') return done(null, undefined);
      const types = routeSetting.hasMediaTypeError ? jsonType : jsonTypes;
      if (!types.test(headers['content-type'] ?? '')) throw rejectType(request);
      readJsonBody(request, raw, done);
    } catch (error) {
      done(error as Error, undefined);
    }
  });

  app.setErrorHandler((thrown, request, reply) => sendError(thrown, request, reply, options));
  for (const route of options.routes) {
    app.route({
      method: route.method,
      url: route.path,
      config: {
        path: route.path,
        permission: route.permission,
        bodyIsOptional: route.bodyIsOptional ?? false,
        readsBody: route.readsBody ?? false,
        takesForms: route.takesForms ?? false,
        isGlobal: route.isGlobal ?? false,
        hasMediaTypeError: route.hasMediaTypeError ?? false,
        isOffered: route.isOffered,
        watch: options.watchRoute(route.method, route.path),
        bodyLimit: route.bodyLimit,
        errors: route.errors,
        takesInterns: route.takesInterns ?? false,
      },
      handler: route.handler,
    });
  }
  return app;
}

/** Takes the body of a request that a WebSocket has read already. */
function takeBody(raw: SocketRequest, request: FastifyRequest, done: ParserDone): void {
  const { bytes, value } = raw.readBody(request);
  request.bodyShare!.raise(bytes.length);
  request.rawBody = bytes;
  addDeployment(raw, value);
  done(null, value);
}

/** Parses a body. A large one is parsed in a turn of the event loop of its own, and used in the next one. */
function parseBody(body: Buffer, done: (error: Error | null, value?: unknown) => void): void {
  const parse = (use: (value: unknown) => void): void => {
    let value: unknown;
    try {
      value = readJson(body);
    } catch (error) {
      done(error as Error); // `readJson` throws errors
      return;
    }
    use(value);
  };
  if (body.length <= TURN_LENGTH) parse((value) => done(null, value));
  else setImmediate(parse, (value: unknown) => setImmediate(done, null, value));
}

/** Whether a request is still open. */
interface Presence {
  isClosed: boolean;
  /** Called when it closes. Absent without a key. */
  end: (() => void) | undefined;
}

/**
 * Frees the parts of a request when its response has ended or its client has disconnected. Not a part of the hook that
 * calls it: the listener would keep all values of the hook as long as the response.
 */
function watchClose(request: FastifyRequest, raw: ServerResponse, watch: WatchResponse): Presence {
  const presence: Presence = { isClosed: false, end: undefined };
  raw.on('close', () => {
    presence.isClosed = true;
    watch(request, raw);
    request.bodyShare?.free();
    presence.end?.();
  });
  return presence;
}

/** Rejects a compressed upload, which is not read as a whole. @throws {GatewayError} */
function rejectEncoding(encoding: string | undefined): void {
  if (isUncompressed(encoding)) return;
  throw new GatewayError(
    'invalid_request',
    `Content-Encoding is ${encoding!.slice(0, 100)}. Send the body without compression.`,
  );
}

/** Returns the settings of a request without a route. An unknown API path is a 404 only with a key. */
function describeUnknown(
  { raw, method, url }: FastifyRequest,
  findPath: ReturnType<typeof createPathFinder>,
  findErrors: (raw: IncomingMessage) => ErrorDialect,
): RouteSetting {
  const isOpen = method === 'OPTIONS' || !url.startsWith('/api/') || findPath(pathOf(url))?.isOpen;
  return { permission: isOpen ? 'none' : 'any', errors: findErrors(raw) };
}

const pathOf = (url = ''): string => url.split('?', 1)[0]!;

/** The route that `allowOrigins` adds for OPTIONS. */
const ANY_PATH = '*';

/**
 * Responds to OPTIONS of a known path, and of the server (`*`).
 *
 * @see https://github.com/haproxy/haproxy/issues/989 HAProxy checks servers with OPTIONS by default
 */
function tellMethods(
  { method, url }: FastifyRequest,
  reply: FastifyReply,
  findPath: ReturnType<typeof createPathFinder>,
): boolean {
  if (method !== 'OPTIONS') return false;
  const methods = url === ANY_PATH ? ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] : findPath(pathOf(url))?.methods;
  if (!methods) return false;
  reply
    .code(204)
    .header('allow', [...methods, 'OPTIONS'].join(', '))
    .send();
  return true;
}

function notFound(
  request: FastifyRequest,
  reply: FastifyReply,
  findPath: ReturnType<typeof createPathFinder>,
): GatewayError {
  const whole = pathOf(request.url);
  const path = whole.slice(0, 200);
  const known = findPath(whole);
  if (!known) {
    const advice = adviseOnPath(whole, (other) => findPath(other) !== undefined);
    const says = `There is no ${request.method} ${path} here.`;
    return new GatewayError('not_found', advice === undefined ? says : `${says} ${advice}`);
  }
  if (request.headers.upgrade?.toLowerCase() === 'websocket') {
    return new GatewayError(
      'upgrade_not_offered',
      `${path} has no WebSocket. Use HTTP, with \`stream: true\` for events.`,
    );
  }
  const allowed = known.methods.join(', ');
  reply.header('allow', allowed);
  return new GatewayError('method_not_allowed', `${path} does not support ${request.method}. Use ${allowed}.`);
}

function checkPermission(permission: Permission, caller: Caller): void {
  if (admittedKeyKinds[permission].includes(caller.kind)) return;
  if (permission === 'workspace') {
    throw new GatewayError('authentication', 'A management key has no workspace here; use an inference key.');
  }
  throw new GatewayError(
    'permission_denied',
    permission === 'management'
      ? 'Only management keys can perform this operation.'
      : 'A management key cannot call inference endpoints; use an inference key (headgate keys create).',
  );
}

/** @throws {GatewayError} `permission_denied` for a route that the key of an intern cannot use */
function checkInternRoute({ routeSetting, is404, method }: FastifyRequest): void {
  if (routeSetting.takesInterns || is404) return;
  throw new GatewayError(
    'permission_denied',
    `The key of an intern cannot use ${method} on this path. It calls models and reads what belongs to the intern.`,
  );
}

const bodyLimitOf = (request: FastifyRequest, { bodyLimit }: EdgeOptions): BodyLimit =>
  request.routeSetting.bodyLimit ?? { bytes: bodyLimit, source: 'server.body_limit' };

/** Reason phrases of the statuses for which Node has none. */
const reasons: ReadonlyMap<number, string> = new Map([
  [524, 'Timeout'],
  [529, 'Overloaded'],
]);

const describeRequest = ({ id, raw: { headers, url } }: FastifyRequest): FailedRequest => ({ id, headers, url });

function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, options: EdgeOptions): FastifyReply {
  const { writeError = writeErrorEnvelope } = options;
  const { raw } = request;
  const own = raw instanceof SocketRequest ? raw.errors : request.routeSetting.errors;
  const errors = own ?? writeError;
  const failure = readEdgeError(thrown);
  if (!request.hasRun && failure instanceof GatewayError) options.onRejected?.(request, failure);
  const response = errors(failure, request.routerMetadata, describeRequest(request));
  if (response.status >= 500) {
    request.failure =
      thrown instanceof GatewayError ? thrown : new GatewayError('internal', 'unexpected', { cause: thrown });
  }
  if (isAwaitingContinue(request.raw))
    reply.header('connection', 'close'); // the next bytes may be its body or a request
  else if (!request.raw.complete && !options.isDraining()) {
    reply.removeHeader('connection'); // `close`: the client is still sending
    drainBody(request.raw);
  }
  const reason = reasons.get(response.status);
  if (reason !== undefined) reply.raw.statusMessage = reason;
  return reply
    .code(response.status)
    .headers(response.headers)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(response.body));
}

/** Responds on the socket to a request that Node's HTTP parser rejects. */
function rejectMalformedRequest(error: Error & { code?: string }, socket: Socket, writeError: ErrorDialect): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isBodyDrained(socket)) {
    socket.destroy();
    return;
  }
  const failure =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new GatewayError('request_timeout', 'The request took too long to arrive.')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? new GatewayError(
            'headers_too_large',
            `The request headers are larger than ${MAX_HEADER_BYTES} bytes. Send fewer cookies.`,
          )
        : new GatewayError('invalid_request', 'The request is not valid HTTP.');
  const { status, body } = writeError(failure);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\nx-generation-id: ${createTimedId('gen-')}\r\nx-request-id: ${createId('req_')}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

/** A pattern such as `https://*.example.com` matches subdomains of any depth, and not the domain itself. */
function matchOrigin(origin: string): string | RegExp {
  const [before = '', after] = origin.split('*');
  if (after === undefined) return origin;
  const [start, end] = [before, after].map((text) => text.replaceAll('.', '\\.'));
  return new RegExp(`^${start}[\\w.-]+${end}$`);
}

/**
 * Allows every request header that a browser names, because SDKs add new ones. The list of exposed headers must not have
 * wildcards, so each name is listed.
 *
 * @see docs/reference/http.md#headers
 */
async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  const settings: FastifyCorsOptions = {
    origin: origins.includes('*') ? '*' : origins.map(matchOrigin),
    credentials: false,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    exposedHeaders: [
      'request-id',
      'x-generation-id',
      'x-request-id',
      'retry-after',
      'x-should-retry',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      ...rateHeaderNames,
      'x-router-dropped-fields',
      'x-router-token-count',
      'content-disposition',
      'content-range',
      'etag',
    ],
    maxAge: 86_400,
  };
  await app.register(cors, {
    delegator: ({ headers }: FastifyRequest, done: (error: Error | null, chosen: FastifyCorsOptions) => void) => {
      const isPreflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
      done(null, isPreflight ? settings : { ...settings, preflight: false });
    },
  });
}
