/** A change of one file. */
export interface PatchOperation {
  readonly type: 'create_file' | 'update_file' | 'delete_file';
  readonly path: string;
  readonly diff?: string;
}

/** Returns why an operation is invalid, for the model; undefined: it is valid. No file is read. */
export function checkPatch({ type, path, diff }: PatchOperation): string | undefined {
  if (path.trim() === '') return '`operation.path` is empty.';
  if (type === 'delete_file')
    return diff === undefined ? undefined : '`operation.diff` must be absent to delete a file.';
  if (diff === undefined || diff === '') return `\`operation.diff\` is required for ${type}.`;
  const isCreated = type === 'create_file';
  const lines = (diff.endsWith('\n') ? diff.slice(0, -1) : diff).split('\n');
  const allowed = isCreated ? /^\+/ : /^(?:[ +-]|@@)/;
  const at = lines.findIndex((line) => !allowed.test(line));
  if (at === -1) return undefined;
  const starts = isCreated ? '`+`' : 'a space, `+`, `-` or `@@`';
  return `Line ${at + 1} of \`operation.diff\` must start with ${starts}: ${JSON.stringify(lines[at]!.slice(0, 100))}.`;
}
