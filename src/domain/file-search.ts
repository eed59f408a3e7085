/** A word of a search. */
export interface SearchWord {
  text: string;
  /** Whether words that begin with it count, too. */
  isPrefix: boolean;
  /** Its importance, above 0. */
  weight: number;
}

/** The fields of a file that a search can compare. `created_at` is in Unix seconds. */
export type FileField = 'file_id' | 'filename' | 'mime_type' | 'bytes' | 'created_at' | 'purpose';

/** A condition for files. A list as the value means one of its entries. */
export type FileFilter =
  | { type: 'and' | 'or'; filters: readonly FileFilter[] }
  | {
      type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';
      key: FileField;
      value: string | number | readonly (string | number)[];
    };

export interface PassageQuery {
  workspaceId: string;
  /** At least one of them is in each passage. */
  words: readonly SearchWord[];
  /** Only these files, and those in `folders`. Absent with `folders`: all files. */
  fileIds?: readonly string[] | undefined;
  /** Only files whose name begins with one of them. */
  folders?: readonly string[] | undefined;
  filter?: FileFilter | undefined;
  limit: number;
}

export interface FoundPassage {
  fileId: string;
  filename: string;
  mimeType: string;
  bytes: number;
  /** Unix milliseconds. */
  createdAtMs: number;
  position: number;
  text: string;
}

export interface WordCounts {
  /** Passages of the workspace. */
  passages: number;
  /** For each word, how many of them have it, at most the limit. */
  counts: number[];
}
