import { admittedKeyKinds, type Handlers, listRoutes, type Permission, type Route } from '../http/routes.ts';
import { errorEnvelope, errorExample } from './bodies/error.ts';
import { type Operation, type Operations, tags } from './operation.ts';
import { geminiOperations } from './operations/gemini.ts';
import { inferenceOperations } from './operations/inference.ts';
import { internChatOperations } from './operations/intern-chat.ts';
import { internScheduleOperations } from './operations/intern-schedules.ts';
import { internOperations } from './operations/interns.ts';
import { managementOperations } from './operations/management.ts';
import { modelOperations } from './operations/models.ts';
import { recordOperations } from './operations/records.ts';
import { vaultOperations } from './operations/vaults.ts';
import { workspaceDataOperations } from './operations/workspace-data.ts';
import { describeStatus, writeHeaders } from './responses.ts';
import { Type } from 'typebox';
import { type JsonSchema, SchemaWriter } from './schema-writer.ts';

/** The descriptions of all routes. A test compares them with the table of routes. */
export const operations: Operations = {
  ...inferenceOperations,
  ...geminiOperations,
  ...modelOperations,
  ...recordOperations,
  ...managementOperations,
  ...workspaceDataOperations,
  ...internOperations,
  ...vaultOperations,
  ...internChatOperations,
  ...internScheduleOperations,
};

/** A route as the table of routes has it, with the name of its handler. */
export type DescribedRoute = Pick<Route, 'method' | 'path' | 'permission'> & { handlerName: string };

/** The table of routes without their handlers. */
export function listDescribedRoutes(): DescribedRoute[] {
  const names = new Map<unknown, string>();
  const nameless = new Proxy({} as Handlers, {
    get(_handlers, name) {
      const handler = () => Promise.reject(new Error('This handler only has a name.'));
      names.set(handler, String(name));
      return handler;
    },
  });
  // OpenAPI has no WebSockets. OPTIONS only repeats GET.
  return listRoutes(nameless)
    .filter(({ isSocket, method }) => !isSocket && method !== 'OPTIONS')
    .map(({ method, path, permission, handler }) => ({
      method,
      path,
      permission,
      handlerName: names.get(handler)!, // every handler comes from `nameless`
    }));
}

/** The version of the interface, which the paths begin with. */
const INTERFACE_VERSION = '1.0.0';

const eventStream = 'text/event-stream';
/**
 * An event of a stream. OpenAPI before 3.2 has no schema for events, so tools take that of the stream for each one. Source:
 * https://www.speakeasy.com/docs/sdks/customize/runtime/server-sent-events
 */
const serverSentEvent = Type.Object(
  {
    event: Type.Optional(Type.String({ description: 'The type of the event, for APIs that name it here.' })),
    data: Type.String({ description: 'JSON, or `[DONE]` at the end of some APIs.' }),
  },
  { component: 'ServerSentEvent' },
);

/**
 * Creates the OpenAPI 3.1 description of all routes. Its schemas are those that check requests.
 *
 * @param version of the gateway
 * @throws if a route has no description
 */
export function createDocument(version: string): JsonSchema {
  const writer = new SchemaWriter();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of listDescribedRoutes()) {
    const operation = operations[keyOf(route)];
    if (!operation) throw new Error(`${keyOf(route)} has no description in src/openapi/operations.`);
    const path = writePath(route.path);
    const written = writeOperation(route, operation, writer);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: written };
  }
  writer.write(errorEnvelope);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version: INTERFACE_VERSION,
      'x-gateway-version': version,
      description: 'A self-hosted model gateway. Base URL of clients: `/api/v1`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This gateway' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: writer.components,
      securitySchemes: {
        inferenceKey: { type: 'http', scheme: 'bearer', description: 'A key that calls models.' },
        managementKey: { type: 'http', scheme: 'bearer', description: 'A key that administers the gateway.' },
      },
    },
  };
}

/** The key of a route in the table of descriptions. */
export const keyOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

/** `/keys/:hash` → `/keys/{hash}`; the rest of a path has the name `model`, which may contain slashes. */
const writePath = (path: string): string => path.replace(/:(\w+)/g, '{$1}').replace('*', '{model}');

/** The kinds of keys that a permission admits. */
function writeSecurity(permission: Permission): JsonSchema[] {
  const kinds = admittedKeyKinds[permission];
  return [
    ...(kinds.some((kind) => kind !== 'management') ? [{ inferenceKey: [] }] : []),
    ...(kinds.includes('management') ? [{ managementKey: [] }] : []),
  ];
}

function writeOperation(route: DescribedRoute, operation: Operation, writer: SchemaWriter): JsonSchema {
  const { tag, summary, description, body } = operation;
  return {
    operationId: operation.id ?? route.handlerName,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: writeSecurity(route.permission),
    parameters: writeParameters(route, operation, writer),
    ...(body && {
      requestBody: {
        required: !body.isOptional,
        content: {
          [body.type ?? 'application/json']: {
            schema: writer.write(body.schema),
            ...(body.example !== undefined && { example: body.example }),
          },
        },
      },
    }),
    responses: writeResponses(route, operation, writer),
  };
}

function writeParameters({ path }: DescribedRoute, operation: Operation, writer: SchemaWriter): JsonSchema[] {
  const inPath = [...writePath(path).matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: operation.path?.[name!] ? writer.write(operation.path[name!]!) : { type: 'string', minLength: 1 },
    ...(name === 'model' && { description: 'The slug of a model, such as `author/name`. It may contain slashes.' }),
  }));
  const given = (place: 'query' | 'header', parameters: Operation['query']) =>
    Object.entries(parameters ?? {}).map(([name, { description, schema, required = false, deprecated }]) => ({
      name,
      in: place,
      required,
      ...(deprecated && { deprecated }),
      description,
      schema: writer.write(schema),
    }));
  return [...inPath, ...given('query', operation.query), ...given('header', operation.headers)];
}

/** Statuses of errors that every route with a key can have. */
const commonStatuses = [400, 401, 403, 404, 408, 413, 429, 500, 503];
/** Statuses of routes that call models. */
const runStatuses = [402, 422, 502, 524, 529];

function writeResponses({ permission }: DescribedRoute, operation: Operation, writer: SchemaWriter): JsonSchema {
  const { response, tag, statuses = [], lacks = [], error = errorEnvelope } = operation;
  const isRun = tag === 'Inference';
  const errors = [
    ...new Set([...(permission === 'none' ? [] : commonStatuses), ...(isRun ? runStatuses : []), ...statuses]),
  ]
    .filter((status) => !lacks.includes(status))
    .sort();
  const content = {
    ...(response.schema && {
      'application/json': {
        schema: writer.write(response.schema),
        ...(response.example !== undefined && { example: response.example }),
      },
    }),
    ...(response.type !== undefined && {
      [response.type]: { schema: response.type === eventStream ? writer.write(serverSentEvent) : { type: 'string' } },
    }),
    ...(response.stream !== undefined && {
      [eventStream]: { schema: { ...writer.write(serverSentEvent), description: response.stream } },
    }),
  };
  const written: JsonSchema = {
    [response.status ?? 200]: { description: response.description, headers: writeHeaders(isRun), content },
    ...(response.other && {
      [response.other.status]: { description: response.other.description, headers: writeHeaders(isRun), content },
    }),
  };
  for (const status of errors) {
    const isCaller = status === 400 && error === errorEnvelope;
    written[status] = {
      description: describeStatus(status),
      headers: writeHeaders(false, status),
      content: {
        'application/json': { schema: writer.write(error), ...(isCaller && { example: errorExample }) },
      },
    };
  }
  return written;
}
