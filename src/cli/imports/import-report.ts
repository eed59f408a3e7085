/** A part of a foreign configuration, and what became of it. Neither has a value that could be a key. */
export interface ImportNote {
  /** The place in the foreign file, such as `model_list[0].litellm_params.rpm`. */
  path: string;
  message: string;
}

/** Settings that an import could not convert, differences in behavior, and the variables of the new configuration. */
export class ImportReport {
  readonly notCarried: ImportNote[] = [];
  readonly changed: ImportNote[] = [];
  /** Variable → what it must hold. */
  readonly variables = new Map<string, string>();

  drop(path: string, message: string): void {
    this.notCarried.push({ path, message });
  }

  change(path: string, message: string): void {
    this.changed.push({ path, message });
  }
}

/** Writes notes as lines. Control characters, which a foreign file may contain, become spaces. */
export const writeNotes = (notes: readonly ImportNote[]): string[] =>
  notes.map(({ path, message }) => `${path}: ${message}`.replace(/\p{Cc}/gu, ' ').slice(0, MAX_CHARACTERS));

const MAX_CHARACTERS = 300;
