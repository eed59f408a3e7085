import { Type } from 'typebox';
import { containerIdPattern } from '../../domain/container-id.ts';
import { routesOf } from '../../http/define-route.ts';
import { integerParameter, shapedParameter, textParameter } from '../../openapi/parameters.ts';
import { shapes } from '../files/routes.ts';
import { file } from '../files/shapes.ts';
import type { createContainerHandlers } from './handlers.ts';
import { containerFile, containerFileList } from './shapes.ts';

const route = routesOf<ReturnType<typeof createContainerHandlers>>({
  base: '/api/v1/containers/:container_id/files',
  tag: 'Files',
  permission: 'workspace',
  isGlobal: true,
});

/** Parameters that all routes of files have. */
const containerId = { container_id: Type.String({ pattern: containerIdPattern }) };
/** The last digits of base64url have no bits beyond the last byte. */
const containerFileShape = 'cfile_(?:[\\w-]{4})*(?:[\\w-]{4}|[\\w-]{2}[AEIMQUYcgkosw048]|[\\w-][AQgw])';
const containerFileId = { ...containerId, file_id: Type.String({ pattern: `^${containerFileShape}$` }) };
/** Files of a container belong to its owner: a member, the organization or the workspace. @see docs/reference/containers.md#routes */
export const containerRoutes = [
  route('GET', '', {
    id: 'listContainerFiles',
    summary: 'List the files of a container',
    params: containerId,
    query: {
      limit: integerParameter('Files of a page.', { minimum: 1, maximum: 1000, default: 100 }),
      after: shapedParameter('`last_id` of the page before, or the id of a file.', `^(?:${containerFileShape})?$`),
    },
    response: { description: 'A page of files.', schema: containerFileList },
    lacks: [404, 408, 413],
    takesInterns: true,
    open: ({ listContainerFiles }) => listContainerFiles,
  }),
  route('GET', '/:file_id', {
    id: 'findContainerFile',
    summary: 'Find a file of a container',
    params: containerFileId,
    response: { description: 'The file.', schema: containerFile },
    takesInterns: true,
    open: ({ findContainerFile }) => findContainerFile,
  }),
  route('GET', '/:file_id/content', {
    id: 'downloadContainerFile',
    summary: 'Download a file of a container',
    params: containerFileId,
    description: 'With `Range`, the response is a 206 with a part of the file.',
    headers: {
      Range: textParameter('One range of bytes.'),
      'If-Range': textParameter('The `ETag` that the range belongs to.'),
    },
    response: { description: 'The content.', type: 'application/octet-stream' },
    statuses: [416],
    takesInterns: true,
    open: ({ downloadContainerFile }) => downloadContainerFile,
  }),
  route('POST', '/:file_id/promote', {
    id: 'promoteContainerFile',
    summary: 'Copy a file of a container to the files of the workspace',
    params: containerFileId,
    description: shapes,
    response: { description: 'The new file.', schema: file },
    bodyIsOptional: true,
    open: ({ promoteContainerFile }) => promoteContainerFile,
  }),
];
