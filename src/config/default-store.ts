/** `storage.url` if it is not set. `<data>` is the data folder. */
export const DEFAULT_STORE = 'file:<data>/headgate.db';
