import { GatewayError, type Issue } from '../../domain/errors.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { serverToolOf, toolsOfPlugins } from '../../domain/server-tool-of.ts';
import { maxIssues, show } from '../../schema/report.ts';
import { type AnyTool, findTools } from './find-tools.ts';
import { findFusion } from './fusion.ts';
import { findOnline } from './online.ts';

/**
 * Rejects a request that uses a server tool which its workspace has disabled, as a tool or as a plugin.
 *
 * @param disabled types of server tools, such as `router:web_search`
 * @throws {GatewayError} `permission_denied`, with every such use in `metadata.issues`
 * @see docs/reference/management.md#workspaces, docs/reference/choices.md, choice 413
 */
export function rejectDisabledTools(request: ResponseRequest, disabled: readonly string[]): void {
  const issues: Issue[] = [];
  const isDisabled = (type: string | undefined): type is string => type !== undefined && disabled.includes(type);
  const report = (path: string, use: string, type: string): void => {
    if (issues.length === maxIssues) return;
    const message = `\`${path}\` ${use}, and the workspace of this key has disabled ${type} (\`disabled_server_tools\`). Leave it out.`;
    issues.push({ path, message });
  };
  for (const { path, tool } of findTools(request, ({ type }) => isDisabled(serverToolOf(type)))) {
    report(`${path}.type`, `is ${show(tool.type)}`, serverToolOf(tool.type));
  }
  const reportInner = (path: string, tools: readonly { type: string }[]): void => {
    for (const [index, { type }] of tools.entries()) {
      if (isDisabled(type)) report(`${path}.tools[${index}].type`, `is ${show(type)}`, type);
    }
  };
  for (const { path, tool } of findTools(request, ({ type }) => type.startsWith('router:'))) {
    reportInner(`${path}.parameters`, listInnerTools(tool as ToolOfModel));
  }
  for (const [index, { id, enabled, ...settings }] of request.plugins?.entries() ?? []) {
    const type = enabled === false ? undefined : toolsOfPlugins.get(id);
    if (id === 'fusion' && type) reportInner(`plugins[${index}]`, listInnerTools({ type, parameters: settings }));
    if (!isDisabled(type)) continue;
    const isAdded = Object.keys(settings).length === 0; // perhaps by a slug
    const online = isAdded && id === 'web' ? findOnline(request) : undefined;
    const fusion = isAdded && id === 'fusion' ? findFusion(request) : undefined;
    if (online !== undefined) report(online, 'has the suffix `:online`', type);
    else if (fusion !== undefined) report(fusion, 'runs a panel of models', type);
    else report(`plugins[${index}].id`, `is ${show(id)}`, type);
  }
  const [first] = issues;
  if (first) throw new GatewayError('permission_denied', first.message, { metadata: { issues } });
}

/** A server tool that calls a model. */
interface ToolOfModel extends AnyTool {
  parameters?: { tools?: { type: string }[] };
}

/** The server tools of the model that a server tool calls, such as those of a subagent. */
const listInnerTools = ({ parameters }: ToolOfModel): { type: string }[] => parameters?.tools ?? [];
