/** Quotes a text for a POSIX shell, if it needs quotes. */
export const quoteShell = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Writes a call of the API as a command. The key stays in a variable. */
export function writeCall(method: string, url: string, body?: unknown): string {
  const lines = [`curl -X ${method} ${quoteShell(url)}`, '  -H "Authorization: Bearer $HEADGATE_MANAGEMENT_KEY"'];
  if (body !== undefined)
    lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoteShell(JSON.stringify(body))}`);
  return lines.join(' \\\n');
}

/** Writes a command of the gateway. Options without a value are left out; `true` is a switch. */
export function writeCli(
  words: readonly string[],
  options: Record<string, string | number | boolean | null | undefined> = {},
): string {
  const parts = Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === '' || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, quoteShell(value === null ? 'none' : String(value))];
  });
  return ['headgate', ...words.map(quoteShell), ...parts].join(' ');
}
