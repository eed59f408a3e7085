/** Names in the texts by which browsers identify themselves. The first one that occurs counts: others imitate it. */
const browsers = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const;
const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** Writes the browser and the system of a session: `Firefox on Linux`. An unknown browser is shown by its own text. */
export function describeBrowser(text: string): string {
  const find = (names: readonly (readonly [part: string, name: string])[]) =>
    names.find(([part]) => text.includes(part))?.[1];
  const browser = find(browsers);
  const system = find(systems);
  if (browser === undefined) return text.slice(0, 60) || 'unknown';
  return system === undefined ? browser : `${browser} on ${system}`;
}
