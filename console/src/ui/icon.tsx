import type { JSX } from 'react';

/** Paths on a grid of 24 × 24, drawn with a stroke. */
const paths = {
  requests: 'M4 6h16M4 12h16M4 18h10',
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM14 4v3h6V4zM4 17v3h6v-3z',
  spend: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  keys: 'M15.5 8.5a4 4 0 1 1-5.1 3.8L4 18.7V21h3.5v-2.5H10V16l2.3-2.3',
  budgets: 'M12 3v9l6.4 6.4M12 3a9 9 0 1 0 9 9',
  members:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M2.5 20c.6-3.6 3-5.5 6.5-5.5s5.9 1.9 6.5 5.5M16 4.3a3.5 3.5 0 0 1 0 6.4M18.5 14.9c1.7.9 2.7 2.6 3 5.1',
  workspaces: 'M4 7l8-4 8 4-8 4zM4 12l8 4 8-4M4 17l8 4 8-4',
  providers: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  audit: 'M8 4h8l4 4v12H4V4zM8 12h8M8 16h5',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M15.2 15.2 20 20',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'M5 12.5 10 17.5 19.5 7',
  warning: 'M12 4 2.5 20h19zM12 10v4.5M12 17.5v.01',
  failed: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7.5v5.5M12 16.2v.01',
  stopped: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8 12h8',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 5h16v14H4zM9.5 5v14M14.5 5v14',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  up: 'M12 19V5M6 11l6-6 6 6',
  menu: 'M4 6h16M4 12h16M4 18h16',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M4.9 4.9l1.8 1.8M17.3 17.3l1.8 1.8M4.9 19.1l1.8-1.8M17.3 6.7l1.8-1.8',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5',
  screen: 'M3 5h18v11H3zM8 20h8M12 16v4',
  exit: 'M14 4h6v16h-6M4 12h11M11 8l4 4-4 4',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M7 14h10',
  plus: 'M12 5v14M5 12h14',
  back: 'M15 5l-7 7 7 7',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  rotate: 'M20 12a8 8 0 1 1-2.5-5.8M20 4v4h-4',
  chevron: 'M7 10l5 5 5-5',
} as const;

export type IconName = keyof typeof paths;

/** An icon beside a text that says the same. Screen readers skip it. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 3 : 2}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
