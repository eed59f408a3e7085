import { type AdditionalToolsItem, isHosted, isServerTool, type NamespaceTool, type Tool } from '../../domain/items.ts';
import { findToolPath } from '../../domain/late-tools.ts';
import { findAddress, refuseReach } from '../../domain/reach.ts';
import type { ResponseRequest } from '../../domain/request.ts';

/**
 * Checks the request of an intern before it is written for a provider, after all stages that add something: a provider
 * gets functions alone, and nothing that it could open. `inline-urls.ts` replaces the addresses in the input.
 *
 * @throws {GatewayError} `permission_denied`
 * @see docs/reference/interns.md#reach
 */
export function checkSent({ tools = [], input, prompt, image_config: images }: ResponseRequest): void {
  for (const [index, tool] of tools.entries()) checkTool(tool, findToolPath(tool, index));
  for (const [at, item] of input.entries()) {
    if (item.type !== 'additional_tools') continue;
    const { tools: late } = item as AdditionalToolsItem;
    for (const [index, tool] of late.entries()) checkTool(tool, `input[${at}].tools[${index}]`);
  }
  if (prompt) throw refuseReach('prompt', 'names a prompt of a provider, which can have tools. Interns cannot use it.');
  const address = findAddress(images);
  if (address !== undefined) throw refuseReach('image_config', 'has an address, which a provider would open.');
}

function checkTool(tool: Tool, path: string): void {
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
