import { GatewayError } from './errors.ts';
import { serverToolOf, toolsOfPlugins } from './server-tool-of.ts';

/**
 * What the gateway runs and opens for a caller: the limits of an intern. Other callers have none.
 *
 * @see docs/reference/interns.md#reach
 */
export interface Reach {
  /** Whether it can use a server tool, such as `router:web_fetch`, an MCP server (`mcp`, `mcp:<label>`), or a plugin. */
  mayUse(name: string): boolean;
  /** Whether the gateway opens URLs of a host for it. @param host a lower-case name, or an IP address without brackets */
  mayOpen(host: string): boolean;
}

/** The tool that reads the stored files of the workspace. Its name also permits requests to name a file by its id. */
export const READS_FILES = 'router:files';

/** Whether a caller can read the stored files of its workspace. */
export const mayReadFiles = ({ reach }: { readonly reach?: Reach | undefined }): boolean =>
  reach === undefined || reach.mayUse(READS_FILES);

/** Whether a caller can use a plugin that works outside of the request, by its own name or that of its tool. */
export function mayUsePlugin(reach: Reach | undefined, id: string): boolean {
  const tool = toolsOfPlugins.get(id);
  return reach === undefined || tool === undefined || reach.mayUse(id) || reach.mayUse(tool);
}

/** Creates the error for a tool or a plugin that interns cannot use. @param path of its name in the request */
export const refuseUse = (path: string, name: string): GatewayError =>
  refuseReach(path, `is \`${name.slice(0, 100)}\`, which interns cannot use here (interns.tools). Leave it out.`);

/** The name of a tool in `interns.tools`. Undefined: no setting permits it. */
export function nameUse(tool: {
  type: string;
  server_url?: unknown;
  connector_id?: unknown;
  server_label?: unknown;
}): string | undefined {
  if (tool.type !== 'mcp') return serverToolOf(tool.type);
  if (tool.connector_id !== undefined) return undefined; // only a provider has it
  return tool.server_url === undefined ? `mcp:${String(tool.server_label)}` : 'mcp';
}

/**
 * Returns the check of the URLs that the gateway opens, also after a redirect.
 *
 * @param path of the URL in the request. Empty: a model has named it
 * @returns undefined if the caller has no limits. The check throws a `permission_denied`
 */
export function createUrlCheck(reach: Reach | undefined, path: string): ((url: URL) => void) | undefined {
  return reach && ((url) => checkHost(reach, url, path));
}

const readHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

function checkHost(reach: Reach, url: URL, path: string): void {
  const host = readHost(url);
  if (reach.mayOpen(host)) return;
  throw refuseReach(
    path,
    `names the host ${host.slice(0, 253)}, which interns cannot reach (interns.allowed_domains).`,
  );
}

/** Removes the URLs from a query for a search engine, which may open them, unless the caller reaches their hosts. */
export const stripUrls = (reach: Reach | undefined, query: string): string =>
  reach
    ? query.replaceAll(/[a-z][a-z\d+.-]*:[/\\]{2}[^\s"'<>]*/gi, (address) => {
        const url = URL.parse(address);
        return url && reach.mayOpen(readHost(url)) ? address : '';
      })
    : query;

/**
 * Checks the hosts that a sandbox of a caller could reach. A glob must lie in one of the operator's.
 *
 * @param path of the list in the request
 * @throws {GatewayError} `permission_denied`
 */
export function checkNetwork(reach: Reach | undefined, domains: readonly string[], path: string): void {
  if (!reach) return;
  const index = domains.findIndex((domain) => !reach.mayOpen(domain));
  if (index === -1) return;
  const host = domains[index]!.slice(0, 253);
  throw refuseReach(`${path}[${index}]`, `is ${host}, which interns cannot reach (interns.allowed_domains).`);
}

/** Creates the error for something that an intern cannot reach. @param says ends a sentence that begins with the path */
export function refuseReach(path: string, says: string): GatewayError {
  const message = path === '' ? `The URL ${says}` : `\`${path}\` ${says}`;
  return new GatewayError('permission_denied', message, {
    metadata: path === '' ? {} : { param: path, issues: [{ path, message }] },
  });
}

/** Finds a text in a value, or a name of a field, that a provider could open: an address with a scheme, or without one. */
export function findAddress(value: unknown): string | undefined {
  if (typeof value === 'string') return addressShape.test(value) || hostShape.test(value) ? value : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, each] of Object.entries(value)) {
    const found = findAddress(name) ?? findAddress(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Some servers also read an address with one slash or none after its scheme. */
const addressShape = /(?:^\s*|:)[/\\]{2}|^\s*(?:https?|ftp|file|data):/i;

/** A host at the beginning: a name with a dot, an IP address with a path or a port, `localhost`. */
const hostShape =
  /^\s*(?:(?:[\p{L}\d_-]+\.)+(?:\p{L}[\p{L}\d-]*\.?(?:[:/\\?#]|\s*$)|\d+[:/\\?#]|(?:\d+\.){2}\d+\s*$)|\[[\da-f:.]+\]|localhost\b)/iu;

/** Finds the address of another document in a JSON schema, which a provider could load. @returns the value of `$ref` */
export function findRemoteReference(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  for (const [name, each] of Object.entries(schema)) {
    const isRemote = referenceNames.has(name) && typeof each === 'string' && !each.startsWith('#');
    const found = isRemote ? each : findRemoteReference(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

const referenceNames: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
