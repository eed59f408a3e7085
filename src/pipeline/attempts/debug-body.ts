import { hideMcpSecrets } from '../../domain/items.ts';

const LONG = 2000;

/**
 * Copies an upstream body for `response.debug`. Long texts (images, files) are truncated to 2,000 characters and
 * marked. Provider keys are in headers, so the body has none. An `mcp` tool has the keys of its server.
 *
 * @see docs/reference/events.md#debug
 */
export function shortenForDebug(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_key, member) => {
    if (typeof member === 'string' && member.length > LONG) {
      return `${member.slice(0, LONG)}… (${member.length} characters in all)`;
    }
    return member?.type === 'mcp' ? hideMcpSecrets(member) : member;
  });
}
