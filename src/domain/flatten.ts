/**
 * Puts parts together into one piece of text. What `+` makes is a tree of its parts, and one such tree in a body sends
 * all of it down the slow half of `JSON.stringify`: 3 µs more for 2 KB.
 */
export const flatten = (...parts: readonly string[]): string => parts.join('');
