/** How long a key or an endpoint is avoided if its provider limits the rate and names no wait. */
export const LIMITED_MS = 10_000;

/** The maximum time that a wait is obeyed: one of days does not exclude a key or an endpoint. */
export const MAX_LIMITED_MS = 600_000;
