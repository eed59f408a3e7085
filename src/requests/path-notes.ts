/** How an API names what the request of the pipeline has under another name. */
export interface FieldNames {
  /** Members of items, parts and tools → members of the body. The others have the same names. */
  readonly members: ReadonlyMap<string, string>;
  /** Words for fields of the request in the pipeline, as messages quote them. */
  readonly words: ReadonlyMap<string, string>;
}

/** Fields of the request in the pipeline, with their indexes and members. A message can begin with a field: `input: `. */
const pathShape =
  /^[a-z_]+(?:\.[A-Za-z_]+|\[\d+\])*(?=: )|\b(?:input|tools)\[\d+\](?:\[\d+\]|\.[A-Za-z_]+)*|\b(?:max_output_tokens|text\.format(?:\.[A-Za-z_]+)*|reasoning\.[A-Za-z_]+|prompt)\b/g;

/** A text that is only a path, with an explanation: an entry of a list of fields. */
const wholePath = /^[a-z_]+(?:\.[A-Za-z_]+|\[\d+\])*(?=$| \()/;

/** Paths of the request in the pipeline → paths of the body that the client sent. */
export class PathNotes {
  private readonly paths = new Map<string, string>();
  private readonly names: FieldNames;

  constructor(names: FieldNames) {
    this.names = names;
  }

  add(ours: string, theirs: string): void {
    this.paths.set(ours, theirs);
  }

  /** Returns the client's path of a field. Unknown paths stay as they are. */
  translate(path: string): string {
    let end = path.length;
    while (end > 0) {
      const known = this.paths.get(path.slice(0, end));
      if (known !== undefined) {
        const rest = path.slice(end);
        return known + (this.names.members.get(rest) ?? rest);
      }
      end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1));
    }
    return path;
  }

  /** Replaces the paths and the fields that a message names. */
  translateText(text: string): string {
    const whole = wholePath.exec(text)?.[0];
    if (whole !== undefined) return this.translate(whole) + text.slice(whole.length);
    const cited = text.replace(pathShape, (path) => this.translate(path));
    return cited.replace(/`[a-z_]+`/g, (word) => this.names.words.get(word) ?? word);
  }
}
