import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Operation } from './operation.ts';
import type { BodyLimit, Route } from './routes.ts';

/** A route before the gateway has its parts: its place in the table of routes, its description and its handler. */
export interface DefinedRoute<Parts> extends Pick<Route, 'method' | 'path' | 'permission' | 'takesInterns'> {
  /** Undefined: the OpenAPI document leaves the route out. */
  operation: Operation | undefined;
  /** Completes the row of the table of routes. */
  bind(parts: Parts): Route;
}

/** The settings that the routes of an API share. Each route can replace them. */
interface Shared extends Pick<Route, 'permission' | 'errors' | 'hasMediaTypeError' | 'isGlobal'> {
  tag: Operation['tag'];
  /** The schema of errors in the OpenAPI document. Absent: the error envelope. */
  error?: TSchema;
  /** Statuses of errors that the routes never have. */
  lacks?: readonly number[];
}

/** An API: its routes share the settings. */
export interface RouteApi<Parts> extends Shared {
  /** The beginning of every path. */
  base: string;
  /** Returns the maximum body. Absent: `server.body_limit`. */
  limitBody?: (parts: Parts) => BodyLimit;
  /** Whether the operator offers the routes. Absent: always. */
  isOffered?: (parts: Parts) => boolean;
}

/** Checks a body and returns it with its type. @throws {GatewayError} `invalid_request` */
export interface CheckBody<Body> {
  (body: unknown): Body;
  schema: TSchema;
}

/** Names of the parameters of a path: `/keys/:hash` → `hash`. */
type ParamNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The arguments of a handler. */
export interface RouteCall<Path extends string, Body> {
  request: FastifyRequest;
  reply: FastifyReply;
  params: Record<ParamNames<Path>, string>;
  /** The checked body. An optional body that is absent is an empty object. Undefined: the route has no check. */
  body: Body;
}

type BodyFields<Body> = Omit<NonNullable<Operation['body']>, 'schema'> &
  ({ check: CheckBody<Body> } | { schema: TSchema; check?: undefined });

interface CommonFields<Body, Schema extends TSchema>
  extends Partial<Shared>,
    Pick<Route, 'bodyIsOptional' | 'readsBody' | 'takesForms' | 'takesInterns'>,
    Pick<Operation, 'summary' | 'description' | 'query' | 'headers' | 'statuses'> {
  /** The operation id of the OpenAPI document. */
  id: string;
  /** Schemas of parameters of the path. Absent: any text. */
  params?: Record<string, TSchema>;
  body?: BodyFields<Body>;
  response: Omit<Operation['response'], 'schema'> & { schema?: Schema };
}

/** A route besides its API, its method and its path. */
export type RouteFields<Parts, Path extends string, Body, Schema extends TSchema> = CommonFields<Body, Schema> &
  (
    | {
        /** Its result is sent with the status of `response`. */
        handle: (parts: Parts, call: RouteCall<Path, Body>) => Promise<Static<NoInfer<Schema>>>;
        open?: undefined;
      }
    | {
        /** Returns a handler that checks the body and sets the status itself. */
        open: (parts: Parts) => Route['handler'];
        handle?: undefined;
      }
  );

/** Returns a function that defines the routes of an API. */
export const routesOf =
  <Parts>(api: RouteApi<Parts>) =>
  <const Path extends string, Schema extends TSchema, Body = undefined>(
    method: Route['method'],
    path: Path,
    fields: RouteFields<Parts, Path, Body, Schema>,
  ): DefinedRoute<Parts> => {
    const { base, permission, limitBody, isOffered, errors, hasMediaTypeError, isGlobal, ...described } = {
      ...api,
      ...fields,
    };
    const { bodyIsOptional, readsBody, takesForms, takesInterns, body, params, handle, open, ...operation } = described;
    const create =
      (parts: Parts): Route['handler'] =>
      async (request, reply) => {
        const checked = body?.check?.(body.isOptional && request.body === undefined ? {} : request.body) as Body;
        const result = await handle!(parts, {
          request,
          reply,
          params: request.params as Record<ParamNames<Path>, string>,
          body: checked,
        });
        if (operation.response.status !== undefined) reply.code(operation.response.status);
        return result;
      };
    const place = { method, path: `${base}${path}`, permission, takesInterns };
    return {
      ...place,
      operation: {
        ...operation,
        ...(params && { path: params }),
        ...(body && { body: { ...body, schema: body.check ? body.check.schema : body.schema } }),
      },
      bind(parts) {
        return {
          ...place,
          errors,
          hasMediaTypeError,
          isGlobal,
          bodyIsOptional,
          readsBody,
          takesForms,
          bodyLimit: limitBody?.(parts),
          isOffered: isOffered && (() => isOffered(parts)),
          handler: open ? open(parts) : create(parts),
        };
      },
    };
  };
