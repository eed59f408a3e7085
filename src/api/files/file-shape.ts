import type { IncomingHttpHeaders } from 'node:http';
import type { FilePage } from '../../management/files/find-file.ts';
import { writeFileRecord } from '../../management/files/write-file.ts';
import type { FileRecord } from '../../platform/storage/ports/files.ts';

/** The format of a response: that of the gateway, or that of the files API whose client sends the request. */
export interface FileShape {
  writeFile(file: FileRecord): object;
  writePage(page: FilePage): object;
  writeDeletion(id: string): object;
}

/** @see docs/reference/files.md#shapes */
export function findFileShape(headers: IncomingHttpHeaders): FileShape {
  if (headers['anthropic-version'] !== undefined) return anthropicShape;
  return headers['x-stainless-lang'] === undefined ? ownShape : openaiShape; // choice 423
}

const writeEnds = ({ files, hasMore }: FilePage) => ({
  first_id: files[0]?.id ?? null,
  last_id: files.at(-1)?.id ?? null,
  has_more: hasMore,
});

const writeOwnDeletion = (id: string): object => ({ id, type: 'file_deleted' });

const ownShape: FileShape = {
  writeFile: writeFileRecord,
  writePage: (page) => ({
    data: page.files.map(writeFileRecord),
    ...writeEnds(page),
    cursor: page.hasMore ? (page.files.at(-1)?.id ?? null) : null,
  }),
  writeDeletion: writeOwnDeletion,
};

const anthropicShape: FileShape = {
  writeFile: writeFileRecord,
  writePage: (page) => ({ data: page.files.map(writeFileRecord), ...writeEnds(page) }),
  writeDeletion: writeOwnDeletion,
};

const openaiShape: FileShape = {
  writeFile: writeOpenaiFile,
  writePage: (page) => ({ object: 'list', data: page.files.map(writeOpenaiFile), ...writeEnds(page) }),
  writeDeletion: (id) => ({ id, object: 'file', deleted: true }),
};

function writeOpenaiFile(file: FileRecord): object {
  return {
    id: file.id,
    object: 'file',
    bytes: file.bytes,
    created_at: Math.floor(file.createdAtMs / 1000),
    filename: file.filename,
    purpose: file.purpose ?? 'user_data',
    status: 'processed',
  };
}
