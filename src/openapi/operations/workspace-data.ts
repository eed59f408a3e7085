import { Type } from 'typebox';
import { containerIdPattern } from '../../domain/container-id.ts';
import { checkCreatePreset, checkPresetSlug, checkUpdatePreset } from '../../management/presets/schema.ts';
import { requestSchema } from '../../requests/responses/schema.ts';
import { containerFile, containerFileList, file, fileDeletion, fileList, upload } from '../bodies/files.ts';
import { onePreset, onePresetVersion, presetFromRequest, presetList, presetVersionList } from '../bodies/management.ts';
import { deletion } from '../bodies/shapes.ts';
import { anyObject } from '../../schema/shapes.ts';
import type { Operations } from '../operation.ts';
import { integerParameter, page, shapedParameter, textParameter, wordParameter, workspaceUuid } from './parameters.ts';

const presetOperations: Operations = {
  'GET /api/v1/presets': {
    tag: 'Presets',
    summary: 'List the presets',
    query: page,
    response: { description: 'A page of presets.', schema: presetList },
  },
  'POST /api/v1/presets': {
    tag: 'Presets',
    summary: 'Create a preset',
    body: { schema: checkCreatePreset.schema, example: { slug: 'short', config: { max_output_tokens: 100 } } },
    response: { status: 201, description: 'The preset.', schema: onePreset },
    statuses: [409],
  },
  'GET /api/v1/presets/:slug': {
    tag: 'Presets',
    summary: 'Find a preset',
    response: { description: 'The preset and its designated version.', schema: onePreset },
  },
  'PATCH /api/v1/presets/:slug': {
    tag: 'Presets',
    summary: 'Change a preset',
    body: { schema: checkUpdatePreset.schema, example: { designated_version: 1 } },
    response: { description: 'The preset and its designated version.', schema: onePreset },
    statuses: [409],
  },
  'DELETE /api/v1/presets/:slug': {
    tag: 'Presets',
    summary: 'Delete a preset',
    response: { description: 'It was deleted.', schema: deletion },
  },
  'GET /api/v1/presets/:slug/versions': {
    tag: 'Presets',
    summary: 'List the versions of a preset',
    query: page,
    response: { description: 'A page of versions.', schema: presetVersionList },
  },
  'GET /api/v1/presets/:slug/versions/:version': {
    tag: 'Presets',
    summary: 'Find a version of a preset',
    response: { description: 'The version.', schema: onePresetVersion },
  },
  'POST /api/v1/presets/:slug/responses': {
    tag: 'Presets',
    path: checkPresetSlug.schema.properties,
    summary: 'Save the settings of a request',
    description: 'Creates the preset, or a new version of it.',
    body: { schema: requestSchema, example: { model: 'simulator/echo', instructions: 'Be short.' } },
    response: { description: 'The preset and the new version.', schema: presetFromRequest },
    statuses: [409],
  },
  'POST /api/v1/presets/:slug/chat/completions': {
    tag: 'Presets',
    path: checkPresetSlug.schema.properties,
    summary: 'Save the settings of a chat completion',
    description: 'Creates the preset, or a new version of it. `messages` may be left out.',
    body: { schema: anyObject(), example: { model: 'simulator/echo', max_tokens: 100 } },
    response: { description: 'The preset and the new version.', schema: presetFromRequest },
    statuses: [409],
  },
  'POST /api/v1/presets/:slug/messages': {
    tag: 'Presets',
    path: checkPresetSlug.schema.properties,
    summary: 'Save the settings of a message',
    description: 'Creates the preset, or a new version of it. `messages` may be left out.',
    body: { schema: anyObject(), example: { model: 'simulator/echo', system: 'Be short.', max_tokens: 100 } },
    response: { description: 'The preset and the new version.', schema: presetFromRequest },
    statuses: [409],
  },
};

/** Parameters that all routes of files have. */
const containerId = { container_id: Type.String({ pattern: containerIdPattern }) };
/** The last digits of base64url have no bits beyond the last byte. */
const containerFileShape = 'cfile_(?:[\\w-]{4})*(?:[\\w-]{4}|[\\w-]{2}[AEIMQUYcgkosw048]|[\\w-][AQgw])';
const containerFileId = { ...containerId, file_id: Type.String({ pattern: `^${containerFileShape}$` }) };
const fileId = '^(?:[\\w-]{1,100})?$';
const target = {
  workspace_id: workspaceUuid,
  provider: wordParameter('Passes the request on to the files of a vendor.', 'openai', 'anthropic'),
};

const shapes =
  'With `anthropic-version` or `x-stainless-lang` in the request, the response has the shape of that files API.';

const fileOperations: Operations = {
  'GET /api/v1/files': {
    tag: 'Files',
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
  },
  'POST /api/v1/files': {
    tag: 'Files',
    summary: 'Upload a file',
    description: shapes,
    query: target,
    body: { schema: upload, type: 'multipart/form-data' },
    response: { description: 'The file.', schema: file },
    statuses: [429],
  },
  'GET /api/v1/files/:id': {
    tag: 'Files',
    summary: 'Find a file',
    description: shapes,
    query: target,
    response: { description: 'The file.', schema: file },
  },
  'DELETE /api/v1/files/:id': {
    tag: 'Files',
    summary: 'Delete a file',
    description: shapes,
    query: target,
    response: { description: 'It was deleted.', schema: fileDeletion },
  },
  'GET /api/v1/files/:id/content': {
    tag: 'Files',
    summary: 'Download a file that a model made',
    query: target,
    response: { description: 'The content.', type: 'application/octet-stream' },
  },
  'GET /api/v1/containers/:container_id/files': {
    tag: 'Files',
    summary: 'List the files of a container',
    path: containerId,
    query: {
      limit: integerParameter('Files of a page.', { minimum: 1, maximum: 1000, default: 100 }),
      after: shapedParameter('`last_id` of the page before, or the id of a file.', `^(?:${containerFileShape})?$`),
    },
    response: { description: 'A page of files.', schema: containerFileList },
    lacks: [404, 408, 413],
  },
  'GET /api/v1/containers/:container_id/files/:file_id': {
    tag: 'Files',
    summary: 'Find a file of a container',
    path: containerFileId,
    response: { description: 'The file.', schema: containerFile },
  },
  'GET /api/v1/containers/:container_id/files/:file_id/content': {
    tag: 'Files',
    summary: 'Download a file of a container',
    path: containerFileId,
    description: 'With `Range`, the response is a 206 with a part of the file.',
    headers: {
      Range: textParameter('One range of bytes.'),
      'If-Range': textParameter('The `ETag` that the range belongs to.'),
    },
    response: { description: 'The content.', type: 'application/octet-stream' },
    statuses: [416],
  },
  'POST /api/v1/containers/:container_id/files/:file_id/promote': {
    tag: 'Files',
    summary: 'Copy a file of a container to the files of the workspace',
    path: containerFileId,
    description: shapes,
    response: { description: 'The new file.', schema: file },
  },
};

/** The routes of presets, files and files of containers. */
export const workspaceDataOperations: Operations = { ...presetOperations, ...fileOperations };
