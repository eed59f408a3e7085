import type { DefinedRoute } from '../http/define-route.ts';
import { admittedKeyKinds, type Permission } from '../http/routes.ts';
import { errorEnvelope, errorExample } from './error-shapes.ts';
import { type Operation, tags } from '../http/operation.ts';
import { describeStatus, writeHeaders } from './responses.ts';
import { Type } from 'typebox';
import { type JsonSchema, SchemaWriter } from './schema-writer.ts';

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
 * Creates the OpenAPI 3.1 description of routes. Its schemas are those that check requests.
 *
 * @param version of the gateway
 */
export function createDocument(version: string, routes: readonly DefinedRoute<never>[]): JsonSchema {
  const writer = new SchemaWriter();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const { method, path: pattern, permission, operation } of routes) {
    if (!operation) continue;
    const path = writePath(pattern);
    const written = writeOperation({ path, permission, operation }, writer);
    paths[path] = { ...paths[path], [method.toLowerCase()]: written };
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

/** A route that the document describes. */
interface Described {
  /** As OpenAPI writes it. */
  path: string;
  permission: Permission;
  operation: NonNullable<DefinedRoute<never>['operation']>;
}

function writeOperation({ path, permission, operation }: Described, writer: SchemaWriter): JsonSchema {
  const { tag, summary, description, body } = operation;
  return {
    operationId: operation.id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: writeSecurity(permission),
    parameters: writeParameters(path, operation, writer),
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
    responses: writeResponses(permission, operation, writer),
  };
}

function writeParameters(path: string, operation: Operation, writer: SchemaWriter): JsonSchema[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
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

function writeResponses(permission: Permission, operation: Operation, writer: SchemaWriter): JsonSchema {
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
