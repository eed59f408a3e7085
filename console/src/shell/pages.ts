import type { Session } from '../api/session.ts';
import type { IconName } from '../ui/icon.tsx';

interface PageEntry {
  path:
    | '/overview'
    | '/requests'
    | '/spend'
    | '/models'
    | '/keys'
    | '/budgets'
    | '/members'
    | '/workspaces'
    | '/audit'
    | '/sessions';
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
  { path: '/overview', label: 'Overview', icon: 'overview', key: 'o', group: 'Watch' },
  { path: '/requests', label: 'Requests', icon: 'requests', key: 'r', group: 'Watch' },
  { path: '/spend', label: 'Spend', icon: 'spend', key: 's', group: 'Watch' },
  { path: '/models', label: 'Models', icon: 'providers', key: 'l', group: 'Watch' },
  { path: '/keys', label: 'Keys', icon: 'keys', key: 'k', group: 'Manage', isForAdmins: true },
  { path: '/budgets', label: 'Budgets', icon: 'budgets', key: 'b', group: 'Manage', isForAdmins: true },
  { path: '/members', label: 'Members', icon: 'members', key: 'm', group: 'Manage', isForAdmins: true },
  { path: '/workspaces', label: 'Workspaces', icon: 'workspaces', key: 'w', group: 'Manage', isForAdmins: true },
  { path: '/audit', label: 'Audit', icon: 'audit', key: 'a', group: 'Manage', isForAdmins: true },
  { path: '/sessions', label: 'Sessions', icon: 'screen', key: 'i', group: 'Manage' },
];

/** @returns the pages that a session may use */
export const pagesOf = ({ kind }: Pick<Session, 'kind'>): readonly PageEntry[] =>
  pages.filter(({ isForAdmins }) => kind === 'management' || isForAdmins !== true);
