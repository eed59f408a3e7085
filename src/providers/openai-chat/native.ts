import type { Tool } from '../../domain/items.ts';
import { isNativePart, type NativeRequest, readNative } from '../../domain/native.ts';
import type { WireBody } from './fit.ts';

/** Takes a tool of a kind that only the provider knows. @returns whether it is one */
export function takeNative(tool: Tool, tools: object[]): boolean {
  const native = isNativePart(tool) ? readNative(tool) : undefined;
  if (native) tools.push(native);
  return native !== undefined;
}

/**
 * Adds what a client of the same format has sent, unchanged: tools and a choice of kinds that the gateway does not know.
 * No rule of a provider applies to them, so they are added to the fitted body.
 *
 * @see docs/reference/chat-completions.md#newer-values
 */
export function writeNative(body: WireBody, tools: readonly object[], { fields }: NativeRequest): void {
  if (tools.length > 0) body.tools = [...(body.tools ?? []), ...tools] as NonNullable<WireBody['tools']>; // see above
  if (body.tool_choice === undefined && fields['tool_choice'] && body.tools) body.tool_choice = fields['tool_choice'];
}
