const LONG = 2000;

/**
 * Copies an upstream body for `response.debug`. Long texts (images, files) are truncated to 2,000 characters and
 * marked. Provider keys are in headers, so the body has none.
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
