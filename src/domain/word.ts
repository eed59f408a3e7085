/** A word of an open list. The editor suggests the known ones, and any other text is accepted. */
export type Word<Known extends string> = Known | (string & {});
