import type { FileVendor } from '../api/files/read-file-query.ts';
import type { VendorAccount } from '../api/files/pass-through.ts';
import type { Config } from '../config/schema.ts';
import type { Provider } from '../providers/provider.ts';
import type { ConfiguredModels } from './build-models.ts';

/** Headers of the files API that a vendor requires. A client may send its own. */
const usual: Readonly<Record<FileVendor, Record<string, string>>> = {
  openai: {},
  anthropic: { 'anthropic-beta': 'files-api-2025-04-14' },
};

/**
 * Returns the account of a workspace at a vendor: a provider of this kind with a key that the workspace brings. Shared
 * providers do not count, because workspaces would see the files of each other.
 */
export function findVendorAccount(
  config: Config,
  { providers, catalog }: ConfiguredModels,
  vendor: FileVendor,
  workspaceId: string,
): VendorAccount | undefined {
  for (const entry of config.providers) {
    if (entry.workspace === undefined || (entry.id !== vendor && entry.same_as !== vendor)) continue;
    const provider = providers.find(({ id }) => id === entry.id);
    const isOwn = catalog.endpoints.some((each) => each.provider === provider && each.workspace === workspaceId);
    if (provider?.upstream && isOwn) return createAccount(provider, vendor, config.timeouts);
  }
  return undefined;
}

function createAccount(provider: Provider, vendor: FileVendor, timeouts: Config['timeouts']): VendorAccount {
  return {
    name: provider.name,
    mask: provider.maskKeys,
    send({ method, path, headers, body }, cancellation) {
      const own = provider.headersFor(0, false); // files belong to the account of one key
      const merged = new Map<string, string>(Object.entries(usual[vendor]));
      for (let at = 0; at < own.length; at += 2) merged.set(own[at]!.toLowerCase(), own[at + 1]!);
      merged.delete('content-type');
      merged.set('accept', '*/*');
      for (const [name, value] of Object.entries(headers)) merged.set(name, value);
      // The client may take all its time to send the body, and the vendor responds afterwards.
      const firstByteMs = timeouts.receive_ms + timeouts.first_byte_ms;
      return provider.upstream!.send(path, [...merged].flat(), body ?? noBody, cancellation, { method, firstByteMs });
    },
  };
}

const noBody = Buffer.alloc(0);
