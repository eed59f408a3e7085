import type { InternVaults } from '../../interns/ports.ts';
import type { InternStore } from '../../platform/storage/ports/interns.ts';

/** The dependencies of the use cases of interns. */
export interface InternParts {
  interns: InternStore;
  vaults: Pick<InternVaults, 'create' | 'destroy'>;
  maxPerMember: () => number;
  /** Unix milliseconds. */
  now: () => number;
  /** Informs the owner of an intern, which can be another process, that its row changed. */
  notify: (internId: string) => void;
}
