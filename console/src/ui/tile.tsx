import type { JSX, ReactNode } from 'react';

/** A number with its name, and what it compares with. */
export function Tile({ label, hint, children }: { label: string; hint?: ReactNode; children: ReactNode }): JSX.Element {
  return (
    <div className="tile">
      <dt>{label}</dt>
      <dd>{children}</dd>
      {hint !== undefined && <dd>{hint}</dd>}
    </div>
  );
}
