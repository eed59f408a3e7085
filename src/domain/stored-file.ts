/** The ids of stored files begin with it, and those of the files of providers do not. */ // choice 421
export const STORED_FILE_PREFIX = 'file_w';

/** Whether an id is one of the gateway's own files. */
export const isStoredFileId = (id: unknown): id is string =>
  typeof id === 'string' && id.startsWith(STORED_FILE_PREFIX);
