import type { InternStore } from '../platform/storage/ports/interns.ts';
import type { VaultStore } from '../platform/storage/ports/vaults.ts';

const PAGE = 500;

/**
 * Deletes the vaults of deleted interns. A process that ends while one request creates an intern and another deletes it
 * can leave one. The row of an intern is older than its vault and is deleted after it, so a vault without one is unused.
 *
 * @returns how many there were
 */
export async function sweepVaults(
  { vaults, interns }: { vaults: VaultStore; interns: Pick<InternStore, 'findInternByVault'> },
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for (let after: string | undefined; ; ) {
    const page = await vaults.listVaults({ after, limit: PAGE });
    for (const { id, kind } of page) {
      signal.throwIfAborted();
      if (kind !== 'intern' || (await interns.findInternByVault(id))) continue;
      if (await vaults.deleteVault(id)) deleted++;
    }
    if (page.length < PAGE) return deleted;
    after = page.at(-1)!.id;
  }
}
