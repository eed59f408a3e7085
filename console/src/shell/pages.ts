import type { Session } from '../api/session.ts';
import type { IconName } from '../ui/icon.tsx';

interface PageEntry {
  path: '/requests';
  label: string;
  icon: IconName;
  /** The key after `g` that opens it. */
  key: string;
  group: 'Watch' | 'Manage';
  /** Whether only management sessions have it. */
  isForAdmins?: true;
}

/** The pages of the navigation, in its order. */
const pages: readonly PageEntry[] = [
  { path: '/requests', label: 'Requests', icon: 'requests', key: 'r', group: 'Watch' },
];

/** @returns the pages that a session may use */
export const pagesOf = ({ kind }: Pick<Session, 'kind'>): readonly PageEntry[] =>
  pages.filter(({ isForAdmins }) => kind === 'management' || isForAdmins !== true);
