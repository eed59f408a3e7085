import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import { readUpload, type UploadedFile } from '../../http/read-upload.ts';
import { createFile } from '../../management/files/create-file.ts';
import { openFileContent } from '../../management/files/file-objects.ts';
import { deleteFile, getFile, listFilePage } from '../../management/files/find-file.ts';
import type { FileParts } from '../../management/files/parts.ts';
import type { WorkspaceReader } from '../../platform/storage/ports/workspaces.ts';
import { readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementHandler, pathParam } from '../management/route.ts';
import { writeContentHeaders } from './content-headers.ts';
import { passFileRequest, type PassThroughParts } from './pass-through.ts';
import {
  type FileVendor,
  findFileWorkspace,
  findVendor,
  readFilePage,
  readFileTarget,
  readVendorTarget,
  readUploadFields,
} from './read-file-query.ts';
import { findFileShape } from './file-shape.ts';

export interface FileApiParts extends FileParts, Omit<PassThroughParts, 'maxBytes'> {
  workspaces: Pick<WorkspaceReader, 'findWorkspace'>;
  /** Maximum uploads that this process receives at once. */
  maxUploads: () => number;
}

type FileHandlerName = 'listFiles' | 'uploadFile' | 'findFile' | 'deleteFile' | 'downloadFile';

/** Bytes of a form beside its file. */
const FORM_BYTES = 256 * 1024;
/** Part of the uploads at once that one workspace may have, so that slow uploads leave room for the others. choice 486 */
const MAX_SHARE = 0.75;

/** The files of a workspace. @see docs/reference/files.md */
export function createFileHandlers(parts: FileApiParts): Record<FileHandlerName, ManagementHandler> {
  const { files, workspaces } = parts;
  let uploads = 0;
  const uploadsOf = new Map<string, number>(); // by workspace

  function receive(request: FastifyRequest, workspaceId: string) {
    const store = ({ filename, content, fields }: UploadedFile) => {
      let purpose: string | null = null;
      async function* checked() {
        yield* content;
        purpose = readUploadFields(fields); // they may follow the file
      }
      return createFile(parts, actorOf(request), {
        workspaceId,
        filename,
        content: checked(),
        downloadable: false,
        readPurpose: () => purpose,
      });
    };
    const maxBytes = parts.limits().maxBytes + FORM_BYTES;
    return readUpload(request.raw, { maxBytes, source: 'files.max_bytes, and the rest of the form', take: store });
  }

  const passOn = async (vendor: FileVendor, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const scope = await findFileWorkspace(workspaces, request, readVendorTarget(request));
    const maxBytes = () => parts.limits().maxBytes + FORM_BYTES;
    return passFileRequest({ ...parts, maxBytes }, vendor, scope, request, reply);
  };
  /** Passes requests for files of a vendor on. */
  const orPassOn =
    (handle: ManagementHandler): ManagementHandler =>
    (request, reply) => {
      const vendor = findVendor(request);
      return vendor ? passOn(vendor, request, reply) : handle(request, reply);
    };

  /** Handles a request for one file. */
  const withTarget = (
    handle: (request: FastifyRequest, reply: FastifyReply, workspaceId: string) => Promise<unknown>,
  ): ManagementHandler =>
    orPassOn(async (request, reply) => {
      const target = readQuery(request, readFileTarget);
      return handle(request, reply, await findFileWorkspace(workspaces, request, target));
    });

  const upload = withTarget(async (request, _reply, workspaceId) =>
    findFileShape(request.headers).writeFile(await receive(request, workspaceId)),
  );

  return {
    listFiles: orPassOn(async (request) => {
      const { target, page } = readQuery(request, (reader) => ({
        target: readFileTarget(reader),
        page: readFilePage(reader),
      }));
      const workspaceId = await findFileWorkspace(workspaces, request, target);
      return findFileShape(request.headers).writePage(await listFilePage(files, { workspaceId, ...page }));
    }),

    async uploadFile(request, reply) {
      const { workspaceId } = request.caller!; // the route needs a key
      const own = uploadsOf.get(workspaceId) ?? 0;
      const max = parts.maxUploads();
      if (uploads >= max || own >= Math.ceil(max * MAX_SHARE)) {
        const count = uploads >= max ? `${uploads} uploads` : `${own} uploads of your workspace`;
        throw new GatewayError(
          'rate_limited',
          `This process already receives ${count} (files.parallel_uploads). Retry later.`,
          { retryAfterSeconds: 1 },
        );
      }
      uploads++;
      uploadsOf.set(workspaceId, own + 1);
      try {
        return await upload(request, reply);
      } finally {
        uploads--;
        const left = uploadsOf.get(workspaceId)! - 1;
        if (left === 0) uploadsOf.delete(workspaceId);
        else uploadsOf.set(workspaceId, left);
      }
    },

    findFile: withTarget(async (request, _reply, workspaceId) =>
      findFileShape(request.headers).writeFile(await getFile(files, workspaceId, pathParam(request, 'id'))),
    ),

    deleteFile: withTarget(async (request, _reply, workspaceId) => {
      const { id } = await deleteFile(parts, actorOf(request), workspaceId, pathParam(request, 'id'));
      return findFileShape(request.headers).writeDeletion(id);
    }),

    downloadFile: withTarget(async (request, reply, workspaceId) => {
      const file = await getFile(files, workspaceId, pathParam(request, 'id'));
      if (!file.downloadable) {
        throw new GatewayError(
          'invalid_request',
          `${file.id} was uploaded, and uploaded files cannot be downloaded. Only generated files can.`,
        );
      }
      const { content, bytes } = await openFileContent(parts, file);
      writeContentHeaders(reply, file.mimeType, file.filename, bytes);
      return content;
    }),
  };
}
