import type { Issue } from '../../../domain/errors.ts';
import type { InputItem } from '../../../domain/items.ts';

/** A call that the caller has approved, and that has not run. */
export interface ApprovedCall {
  /** Id of the `mcp_approval_request`. */
  readonly id: string;
  readonly label: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
  /** `input[3]`: the response. */
  readonly path: string;
}

interface RequestItem {
  id: string;
  server_label: string;
  name: string;
  arguments: string;
}

type AnyItem = { type: string } & Readonly<Record<string, unknown>>;

/**
 * Finds the calls that the caller has approved and that have not run. Those of other servers go to the provider, or the
 * model reads that they have not run (`replay-mcp.ts`).
 *
 * @param labels of the servers of the request that the gateway calls
 * @param issues gets responses to unknown requests
 */
export function findApproved(
  input: readonly InputItem[],
  labels: ReadonlySet<string>,
  issues: Issue[],
): readonly ApprovedCall[] {
  const requests = new Map<string, RequestItem>();
  const done = new Set<unknown>();
  for (const item of input as readonly AnyItem[]) {
    if (item.type === 'mcp_approval_request') requests.set(String(item['id']), item as unknown as RequestItem); // checked
    if (item.type === 'mcp_call') done.add(item['approval_request_id']);
  }
  const approved: ApprovedCall[] = [];
  for (const [index, item] of (input as readonly AnyItem[]).entries()) {
    if (item.type !== 'mcp_approval_response') continue;
    const id = String(item['approval_request_id']);
    const path = `input[${index}].approval_request_id`;
    const request = requests.get(id);
    if (!request) {
      const message = `\`approval_request_id\` names no \`mcp_approval_request\` of the input: "${id.slice(0, 100)}". Send that item back before its response.`;
      issues.push({ path, message });
    } else if (labels.has(request.server_label) && item['approve'] === true && !done.has(id)) {
      done.add(id); // a repeated response counts once
      const { server_label: label, name, arguments: given } = request;
      approved.push({ id, label, name, arguments: given, path });
    }
  }
  return approved;
}
