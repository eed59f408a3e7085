import { routesOf } from '../../http/define-route.ts';
import { integerParameter, shapedParameter, wordParameter, workspaceUuid } from '../../openapi/parameters.ts';
import type { createFileHandlers } from './handlers.ts';
import { file, fileDeletion, fileList, upload } from './shapes.ts';

const route = routesOf<ReturnType<typeof createFileHandlers>>({
  base: '/api/v1/files',
  tag: 'Files',
  permission: 'any',
  isGlobal: true,
});

const fileId = '^(?:[\\w-]{1,100})?$';
const target = {
  workspace_id: workspaceUuid,
  provider: wordParameter('Passes the request on to the files of a vendor.', 'openai', 'anthropic'),
};

/** A sentence of descriptions. */
export const shapes =
  'With `anthropic-version` or `x-stainless-lang` in the request, the response has the shape of that files API.';

/** Files belong to the workspace of an inference key; management keys name the workspace. @see docs/reference/files.md */
export const fileRoutes = [
  route('GET', '', {
    id: 'listFiles',
    summary: 'List the files',
    description: shapes,
    query: {
      ...target,
      limit: integerParameter('Files of a page. 100 by default.', { minimum: 1, maximum: 1000 }),
      cursor: shapedParameter('`cursor` of the page before.', fileId),
      after: shapedParameter('The id of the last file of the page before, as OpenAI names it.', fileId),
      after_id: shapedParameter('The id of the last file of the page before, as Anthropic names it.', fileId),
      order: wordParameter('`asc`, the default: the oldest first.', 'asc', 'desc'),
      purpose: shapedParameter('Only files with this purpose.', '^[a-z0-9_-]{1,64}$'),
    },
    response: { description: 'A page of files.', schema: fileList },
    open: ({ listFiles }) => listFiles,
  }),
  route('POST', '', {
    id: 'uploadFile',
    summary: 'Upload a file',
    description: shapes,
    query: target,
    body: { schema: upload, type: 'multipart/form-data' },
    response: { description: 'The file.', schema: file },
    statuses: [429],
    readsBody: true,
    open: ({ uploadFile }) => uploadFile,
  }),
  route('GET', '/:id', {
    id: 'findFile',
    summary: 'Find a file',
    description: shapes,
    query: target,
    response: { description: 'The file.', schema: file },
    open: ({ findFile }) => findFile,
  }),
  route('DELETE', '/:id', {
    id: 'deleteFile',
    summary: 'Delete a file',
    description: shapes,
    query: target,
    response: { description: 'It was deleted.', schema: fileDeletion },
    open: ({ deleteFile }) => deleteFile,
  }),
  route('GET', '/:id/content', {
    id: 'downloadFile',
    summary: 'Download a file that a model made',
    query: target,
    response: { description: 'The content.', type: 'application/octet-stream' },
    open: ({ downloadFile }) => downloadFile,
  }),
];
