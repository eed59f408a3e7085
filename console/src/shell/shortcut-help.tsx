import type { JSX } from 'react';
import { Dialog } from '../ui/dialog.tsx';
import { pagesOf } from './pages.ts';
import { useSession } from './use-session.ts';

/** Lists all keys. */
export function ShortcutHelp({ onClose }: { onClose: () => void }): JSX.Element {
  const keys: [string, string[]][] = [
    ['Find a page, a key or an action', ['Ctrl', 'K']],
    ['Search on this page', ['/']],
    ['Next row', ['j']],
    ['Previous row', ['k']],
    ['Open the row', ['Enter']],
    ['Show new requests', ['n']],
    ...pagesOf(useSession()).map(({ label, key }): [string, string[]] => [`Go to ${label}`, ['g', key]]),
    ['Show these keys', ['?']],
  ];
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div className="dialog-body">
        <dl className="shortcuts">
          {keys.map(([label, parts]) => (
            <div key={label} style={{ display: 'contents' }}>
              <dt>{label}</dt>
              <dd>
                {parts.map((part) => (
                  <kbd key={part} style={{ marginLeft: 4 }}>
                    {part}
                  </kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Dialog>
  );
}
