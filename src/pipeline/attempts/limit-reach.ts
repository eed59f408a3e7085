import { isDataUrl } from '../../domain/data-url.ts';
import { placesOf } from '../../domain/input-places.ts';
import {
  type AdditionalToolsItem,
  type InputItem,
  isHosted,
  isServerTool,
  type NamespaceTool,
  type Tool,
} from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import { findAddress, findRemoteReference, refuseReach } from '../../domain/reach.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/**
 * Checks the request of an intern before it is written for a provider, after all stages that add something: a provider
 * gets functions alone, and nothing that it could open. `inline-urls.ts` replaces the addresses in the input.
 *
 * @throws {GatewayError} `permission_denied`
 * @see docs/reference/interns.md#reach
 */
export function checkSent({ tools = [], input, prompt, text, image_config: images }: ResponseRequest): void {
  for (const [index, tool] of tools.entries()) checkTool(tool, findToolPath(tool, index));
  const places = placesOf(input);
  for (const [index, item] of input.entries()) checkItem(item, `input[${places?.[index] ?? index}]`);
  if (prompt) throw refuseReach('prompt', 'names a prompt of a provider, which can have tools. Interns cannot use it.');
  checkSchema(text?.format, 'text.format');
  const address = findAddress(images);
  if (address !== undefined) throw refuseReach('image_config', 'has an address, which a provider would open.');
}

function checkItem(item: InputItem, path: string): void {
  switch (item.type as string) {
    case 'additional_tools':
      for (const [index, tool] of (item as AdditionalToolsItem).tools.entries())
        checkTool(tool, `${path}.tools[${index}]`);
      return;
    case 'item_reference':
      throw refuseReach(path, 'names an item that a provider keeps. Interns send the item itself.');
    case 'image_generation_call':
    case 'router:image_generation':
      for (const field of ['result', 'url', 'imageUrl', 'imageB64']) checkImage(item, field, path);
      return;
    case 'mcp_list_tools':
      checkSchema(item, path);
  }
}

/** Rejects an image that is no data. */
function checkImage(holder: object, field: string, path: string): void {
  const value = (holder as Record<string, unknown>)[field];
  if (typeof value !== 'string' || isDataUrl(value) || findAddress(value) === undefined) return;
  throw refuseReach(`${path}.${field}`, 'has an address, which a provider would open. Interns send the data itself.');
}

function checkSchema(holder: unknown, path: string): void {
  const reference = findRemoteReference(holder);
  if (reference === undefined) return;
  throw refuseReach(path, 'has a `$ref` to another document, which a provider would load. Write the schema itself.');
}

function checkTool(tool: Tool, path: string): void {
  checkSchema(tool, path);
  if (tool.type === 'namespace') {
    const { tools } = tool as NamespaceTool;
    for (const [index, inner] of tools.entries()) checkTool(inner as Tool, `${path}.tools[${index}]`); // of one of its kinds
  } else if (isHosted(tool) || isServerTool(tool)) {
    const name = tool.type.slice(0, 100);
    throw refuseReach(
      `${path}.type`,
      `is \`${name}\`, which only a provider could run here. Interns use tools of the gateway.`,
    );
  }
}
