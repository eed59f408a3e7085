/** Members of items and parts → members of blocks and tools. The others have the same names. */
const members: ReadonlyMap<string, string> = new Map([
  ['.call_id', '.tool_use_id'],
  ['.output', '.content'],
  ['.arguments', '.input'],
  ['.image_url', '.source'],
  ['.file_data', '.source'],
  ['.file_url', '.source'],
  ['.file_id', '.source'],
  ['.filename', '.title'],
  ['.parameters', '.input_schema'],
  ['.server_url', '.url'],
]);

/** Words for fields of the request in the pipeline, as messages quote them. */
const words: ReadonlyMap<string, string> = new Map([
  ['`input`', '`messages`'],
  ['`call_id`', '`tool_use_id`'],
  ['`parameters`', '`input_schema`'],
  ['`max_output_tokens`', '`max_tokens`'],
]);

/** Fields of the request in the pipeline, with their indexes and members. A message can begin with `input: `. */
const pathShape =
  /^input(?=: )|\b(?:input|tools)\[\d+\](?:\[\d+\]|\.[a-z_]+)*|\b(?:max_output_tokens|text\.format(?:\.[a-z_]+)*|reasoning\.[a-z_]+|prompt)\b/g;

/** A text that is only a path, with an explanation: an entry of a list of fields. */
const wholePath = /^[a-z_]+(?:\.[a-z_]+)*(?=$| \()/;

/** Paths of the request in the pipeline → paths of the body that the client sent. */
export class PathNotes {
  private readonly paths = new Map<string, string>();

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
        return known + (members.get(rest) ?? rest);
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
    return cited.replace(/`[a-z_]+`/g, (word) => words.get(word) ?? word);
  }
}
