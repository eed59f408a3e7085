import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, KeyKind } from '../domain/caller.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { Tags } from '../domain/tags.ts';
import type { ErrorDialect } from './error-dialect.ts';
import type { BodyShare } from './read-body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request arrives, because `routeOptions` of Fastify creates an object at each access. */
    routeSetting: RouteSetting;
    /** `gen-…`, in `X-Generation-Id` of every response. */
    generationId: string;
    /** The bytes of a JSON body. `body` is the parsed value. */
    rawBody: Buffer | undefined;
    /** The memory of the body until the response is closed. Undefined if none was read. */
    bodyShare: BodyShare | undefined;
    /** Set on every route that needs a key. */
    caller: Caller | undefined;
    /** The arrival time in performance.now(), as observed by this process. */
    receivedAt: number;
    /** Whether it became a run, which logs itself. */
    hasRun: boolean;
    /** The model that it names, once its body was accepted. */
    requestedModel: string | undefined;
    /** Undefined until its body was accepted, and without tags. */
    tags: Tags | undefined;
    /** Whether it requests a stream. */
    isStreamed: boolean;
    /** A failure of the gateway or a provider, for the log. Never a caller's mistake. */
    failure: GatewayError | undefined;
    /** For the error envelope. Undefined until there is a route. */
    routerMetadata: RouterMetadata | undefined;
  }
}

/**
 * The key that a route requires. `none`: no key. `any`: an inference key or a management key. `workspace`: an inference key
 * for the objects of its workspace, and a management key, which has no workspace, is a 401. `inference`: an inference key for
 * models, and a management key is a 403.
 */
export type Permission = 'none' | 'inference' | 'workspace' | 'management' | 'any';

/** The maximum body of a route. */
export interface BodyLimit {
  bytes: number;
  /** The source of the limit, for the message of a 413: the setting, if there is one. */
  source: string;
  /** Milliseconds for it to arrive, otherwise a 408. Absent: `timeouts.receive_ms`, for the whole request. */
  ms?: number;
}

export type WatchResponse = (request: FastifyRequest, raw: ServerResponse) => void;

/** The settings of a route in the table of Fastify, and of unknown paths. */
export interface RouteSetting {
  /** The path in the route table. Absent: the path is unknown. */
  path?: string;
  permission?: Permission;
  bodyIsOptional?: boolean;
  readsBody?: boolean;
  takesForms?: boolean;
  isGlobal?: boolean;
  hasMediaTypeError?: boolean;
  isOffered?: (() => boolean) | undefined;
  watch?: WatchResponse;
  bodyLimit?: BodyLimit | undefined;
  errors?: ErrorDialect | undefined;
  /** Whether the key of an intern can use it. Absent: no. */
  takesInterns?: boolean;
}

/** One row of the table of routes. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  path: string;
  permission: Permission;
  /** Absent: `server.body_limit`. */
  bodyLimit?: BodyLimit;
  /** Writes errors, including those of the server. Absent: the error envelope. */
  errors?: ErrorDialect;
  /** Whether an empty body is accepted, even with a content type. */
  bodyIsOptional?: boolean;
  /** Whether the handler reads the body itself, of any content type. */
  readsBody?: boolean;
  /** Whether a form is accepted besides JSON: `rawBody` has its bytes. */
  takesForms?: boolean;
  /** Whether a body of another content type is a 415. Otherwise it is a 400. */
  hasMediaTypeError?: boolean;
  /** Whether the operator offers it. Otherwise it is a 404. Absent: always. */
  isOffered?: () => boolean;
  /** Whether a regional host name rejects it. */
  isGlobal?: boolean;
  /** Whether it upgrades the connection to a WebSocket. */
  isSocket?: boolean;
  /**
   * Whether the key of an intern can use it. Interns change nothing outside of their home.
   *
   * @see docs/reference/interns.md#keys-of-interns
   */
  takesInterns?: boolean;
  /** Its result is sent. A stream is written to `reply.raw` after `reply.hijack()`. */
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

/** The kinds of keys that each permission admits. */
export const admittedKeyKinds: Record<Permission, readonly KeyKind[]> = {
  none: [],
  inference: ['member', 'organization'],
  workspace: ['member', 'organization'],
  management: ['management'],
  any: ['member', 'organization', 'management'],
};
