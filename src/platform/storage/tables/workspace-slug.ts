/** Most characters of a slug. @see docs/reference/management.md#workspaces */
const maxLength = 50;

/**
 * A slug for a workspace that came with a name alone: `Größe 2` → `grosse-2` or so, with a number behind it when another
 * has it.
 *
 * @param taken the slugs there are
 */
export function createSlug(name: string, taken: ReadonlySet<string>): string {
  const base = name
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxLength)
    .replace(/^-|-$/g, '');
  const first = base === '' ? 'workspace' : base;
  for (let number = 1; ; number++) {
    const tail = number === 1 ? '' : `-${number}`;
    const slug = first.slice(0, maxLength - tail.length).replace(/-$/, '') + tail;
    if (!taken.has(slug)) return slug;
  }
}
