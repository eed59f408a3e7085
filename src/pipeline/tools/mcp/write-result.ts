import type { McpResult } from '../../../domain/mcp.ts';

/** A block of the content of a result. */
type Block = Readonly<Record<string, unknown>>;

/**
 * Writes the result of a tool as text. Texts are unchanged. A description replaces each image,
 * sound and file, because the output of a call is text.
 *
 * @see docs/reference/choices.md, choice 434
 */
export function writeMcpResult({ content, structuredContent }: McpResult): string {
  const texts = content.map(writeBlock).filter((text) => text !== '');
  if (texts.length === 0 && structuredContent) return JSON.stringify(structuredContent);
  return texts.join('\n');
}

function writeBlock(block: Block): string {
  const { type, text, resource } = block;
  if (type === 'text') return typeof text === 'string' ? text : '';
  if (type === 'resource' && typeof resource === 'object' && resource !== null) {
    const held = resource as Block;
    return typeof held['text'] === 'string' ? held['text'] : describe({ type, ...held });
  }
  return describe(block);
}

/** Replaces the bytes by their number. */
function describe(block: Block): string {
  return JSON.stringify(block, (key, value: unknown) => {
    if (key === '_meta') return undefined;
    const isData = (key === 'data' || key === 'blob') && typeof value === 'string';
    return isData ? `${Math.floor((value.length * 3) / 4)} bytes, which the gateway does not pass on` : value;
  });
}
