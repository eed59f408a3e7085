/** Maximum characters of a slug. @see docs/reference/management.md#workspaces */
const maxLength = 50;

/**
 * Creates a slug from the name of a workspace, such as `Größe 2` → `grosse-2`. Appends a number if the slug exists.
 *
 * @param taken the existing slugs
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
