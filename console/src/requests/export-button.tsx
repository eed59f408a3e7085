import { type JSX, useEffect, useRef, useState } from 'react';
import { formatCount } from '../logic/numbers.ts';
import { MenuButton } from '../ui/menu.tsx';
import type { Column } from './columns.tsx';
import { exportRequests, MAX_EXPORTED } from './export-requests.ts';
import type { RequestSearch } from './filters.ts';
import type { Names } from './use-names.ts';

/** Saves the filtered requests as a file, and says how many the file has. */
export function ExportButton(props: { search: RequestSearch; columns: readonly Column[]; names: Names }): JSX.Element {
  const [message, setMessage] = useState<string>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  async function start(format: 'csv' | 'jsonl'): Promise<void> {
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    setMessage('Reading…');
    try {
      const { count, isCut } = await exportRequests({
        ...props,
        format,
        signal: stop.signal,
        onProgress: (count) => setMessage(`${formatCount(count)} requests read…`),
      });
      setMessage(
        isCut
          ? `The file has the first ${formatCount(count)} requests. Narrow the filters, or use the API for more.`
          : `The file has ${formatCount(count)} requests.`,
      );
    } catch (error) {
      if (!stop.signal.aborted) setMessage(error instanceof Error ? error.message : 'The export failed.');
    }
  }

  return (
    <>
      <output className="soft">{message}</output>
      <MenuButton
        icon="download"
        label="Export"
        title={`What the filters match, up to ${formatCount(MAX_EXPORTED)}`}
        choices={[
          { id: 'csv', label: 'CSV', hint: 'the columns that are shown' },
          { id: 'jsonl', label: 'JSONL', hint: 'every field' },
        ]}
        onAction={(id) => void start(id as 'csv' | 'jsonl')}
      />
    </>
  );
}
