import { STORED_FILE_PREFIX } from './stored-file.ts';

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

/** The id in `vector_store_ids` that means all stored files of the workspace. */ // choice 550
export const ALL_FILES = 'workspace';

/** The files to which `vector_store_ids` or parameters of `router:file_search` limit a search. Both empty: all files. */
export interface SearchPlaces {
  readonly fileIds: readonly string[];
  /** The beginnings of file names, each with a slash at the end. */
  readonly folders: readonly string[];
}

/** Whether an entry of `vector_store_ids` names stored files of the gateway, and no store of a provider. */
export const isGatewayStore = (id: unknown): id is string =>
  typeof id === 'string' && (id === ALL_FILES || id.startsWith(STORED_FILE_PREFIX) || id.endsWith('/'));

/** Whether the gateway runs a `file_search`, for every model. */
export const searchesStoredFiles = (tool: { type: string; vector_store_ids?: unknown }): boolean =>
  tool.type === 'file_search' && Array.isArray(tool.vector_store_ids) && tool.vector_store_ids.some(isGatewayStore);

/** Reads the ids that the gateway knows. */
export const readPlaces = (ids: readonly string[]): SearchPlaces =>
  ids.includes(ALL_FILES)
    ? { fileIds: [], folders: [] }
    : { fileIds: ids.filter((id) => !id.endsWith('/')), folders: ids.filter((id) => id.endsWith('/')) };
