/**
 * Joins parts into one flat string. `+` creates a tree of its parts, and one such tree in a body makes `JSON.stringify`
 * use its slow path for the whole body: 3 µs more for 2 KB.
 */
export const flatten = (...parts: readonly string[]): string => parts.join('');
