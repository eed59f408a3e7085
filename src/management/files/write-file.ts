import type { FileRecord } from '../../platform/storage/ports/files.ts';
import { writeTime } from '../write-time.ts';

/** Writes a file as the API of the gateway shows it. @see docs/reference/files.md */
export const writeFileRecord = (file: FileRecord): object => ({
  id: file.id,
  type: 'file',
  filename: file.filename,
  mime_type: file.mimeType,
  size_bytes: file.bytes,
  created_at: writeTime(file.createdAtMs),
  downloadable: file.downloadable,
});
