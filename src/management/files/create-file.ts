import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { createTimedId } from '../../domain/ids.ts';
import { STORED_FILE_PREFIX } from '../../domain/stored-file.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { FileRecord, FileRefusal, FileUsage } from '../../platform/storage/ports/files.ts';
import type { Actor } from '../parts.ts';
import { checkFilename } from './check-filename.ts';
import { ContentInspector } from './content-inspector.ts';
import { ACCEPTED_TYPES, detectMediaType, mayBeBinary, SAMPLE_BYTES } from './detect-media-type.ts';
import { callObjects, nameFileObject } from './file-objects.ts';
import type { FileLimits, FileParts } from './parts.ts';

export interface NewFile {
  workspaceId: string;
  filename: string;
  /** Called when the content has ended. Absent: the file has no purpose. */
  readPurpose?: () => string | null;
  /** Whether callers can read the content. */
  downloadable: boolean;
  content: AsyncIterable<Uint8Array>;
  /** Whether it can be of any type, or empty. Uploads cannot. */
  acceptsAny?: boolean;
}

/**
 * Stores a file: first its content, then its row. Without the row, the content does not count and is removed.
 *
 * @throws {GatewayError} `invalid_request` for the name, the type or an empty content; `payload_too_large`;
 *   `permission_denied` if the workspace is full; `not_found` if it does not exist; what `content` throws
 */
export async function createFile(parts: FileParts, actor: Actor, wanted: NewFile): Promise<FileRecord> {
  const { files, objects, now } = parts;
  const { workspaceId, filename, downloadable } = wanted;
  checkFilename(filename, 'file');
  const limits = parts.limits();
  const used = await callStore(() => files.readFileUsage(workspaceId));
  if (used.files >= limits.workspaceFiles) throw refuse('files', limits);

  const created = { id: createTimedId(STORED_FILE_PREFIX), workspaceId, filename, downloadable, createdAtMs: now() };
  const key = nameFileObject(created);
  const inspection = inspect(wanted, limits, used);
  const bytes = await callObjects(() => objects.put(key, inspection.content));
  const purpose = wanted.readPurpose?.() ?? null;
  const file: FileRecord = { ...created, bytes, purpose, ...inspection.result() };
  try {
    const within = { bytes: limits.workspaceBytes, files: limits.workspaceFiles };
    const change = { atMs: file.createdAtMs, actorKeyHash: actor.keyHash };
    const refusal = await callStore(() => files.addFile(file, within, change));
    if (refusal !== undefined) throw refuse(refusal, limits);
    return file;
  } catch (error) {
    await objects.remove(key).catch(() => {}); // the next sweep removes it
    throw error;
  }
}

type InspectionResult = Pick<FileRecord, 'mimeType' | 'sha256'>;

/** Wraps a content so that it fails when it breaks a limit or a rule. The result is known when it has ended. */
function inspect({ filename, content, acceptsAny = false }: NewFile, limits: FileLimits, used: FileUsage) {
  const inspector = new ContentInspector();
  let result: InspectionResult | undefined;

  const rejectType = (): never => {
    throw invalidRequest([
      { path: 'file', message: `the type of ${JSON.stringify(filename)} is not accepted; ${ACCEPTED_TYPES}.` },
    ]);
  };
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const piece of content) {
      inspector.add(piece);
      if (inspector.bytes > limits.maxBytes) {
        throw new GatewayError(
          'payload_too_large',
          `The file is larger than ${limits.maxBytes} bytes (files.max_bytes).`,
        );
      }
      if (used.bytes + inspector.bytes > limits.workspaceBytes) throw refuse('bytes', limits);
      const { isText, head } = inspector.sample(filename);
      if (!acceptsAny && !isText && head.length >= SAMPLE_BYTES && !mayBeBinary(head)) rejectType(); // no need for the rest
      yield piece;
    }
    const sha256 = inspector.end();
    if (inspector.bytes === 0 && !acceptsAny) {
      throw invalidRequest([
        { path: 'file', message: `${JSON.stringify(filename)} is empty; send a file with content.` },
      ]);
    }
    const detected = detectMediaType(inspector.sample(filename));
    const mimeType = detected ?? (acceptsAny ? 'application/octet-stream' : rejectType());
    result = { mimeType, sha256 };
  }
  return { content: pass(), result: () => result! }; // after the content has been stored
}

function refuse(refusal: FileRefusal, limits: FileLimits): GatewayError {
  switch (refusal) {
    case 'workspace':
      return new GatewayError('not_found', 'The workspace does not exist.');
    case 'files':
      return new GatewayError(
        'permission_denied',
        `The workspace has ${limits.workspaceFiles} files (files.workspace_files). Delete some first.`,
      );
    case 'bytes':
      return new GatewayError(
        'permission_denied',
        `The files of the workspace would exceed ${limits.workspaceBytes} bytes (files.workspace_bytes). Delete some first.`,
      );
  }
}
