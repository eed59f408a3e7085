import type { JSX } from 'react';

/** A column of a table. Numbers are aligned to the right. */
export type TableColumn = string | { title: string; isNumeric: true };

export const numeric = (title: string): TableColumn => ({ title, isNumeric: true });

/** The head of a table. @param hasActions whether the last column has buttons, which need no visible title */
export function TableHead({
  columns,
  hasActions = false,
}: {
  columns: readonly TableColumn[];
  hasActions?: boolean;
}): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map((column) =>
          typeof column === 'string' ? (
            <th key={column} scope="col">
              {column}
            </th>
          ) : (
            <th key={column.title} scope="col" className="number">
              {column.title}
            </th>
          ),
        )}
        {hasActions && (
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}
