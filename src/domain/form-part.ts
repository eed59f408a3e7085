/** A part of a form: a text, or a file. */
export interface FormPart {
  name: string;
  value: string | Buffer;
  /** As the client names it. */
  mediaType: string;
}
