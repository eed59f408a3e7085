const LONG = 2000;

/**
 * A copy of an upstream body for `response.debug`: long texts (images, files) are cut to 2,000 characters and say so.
 * Keys of providers travel in headers, so none is in here.
 *
 * @see docs/reference/events.md#debug
 */
export function shortenForDebug(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, member) =>
    typeof member === 'string' && member.length > LONG
      ? `${member.slice(0, LONG)}… (${member.length} characters in all)`
      : member,
  );
}
