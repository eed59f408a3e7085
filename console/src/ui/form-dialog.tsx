import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { JSX, ReactNode } from 'react';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';

/** A dialog with a form that changes something. A failure stays in the dialog, with the message of the gateway. */
export function FormDialog<Result>({
  title,
  action,
  isDanger = false,
  onSubmit,
  onDone,
  onClose,
  children,
}: {
  title: string;
  /** The text of the button. */
  action: string;
  isDanger?: boolean;
  onSubmit: () => Promise<Result>;
  /** Called after it succeeded. Absent: the dialog closes. */
  onDone?: (result: Result) => void;
  onClose: () => void;
  children: ReactNode;
}): JSX.Element {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: onSubmit,
    onSuccess: async (result) => {
      await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
      if (onDone === undefined) onClose();
      else onDone(result);
    },
  });
  return (
    <Dialog title={title} onClose={onClose} isDismissable={false}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <div className="dialog-body">
          {children}
          {change.error !== null && (
            <p className="notice bad" role="alert">
              <Icon name="failed" />
              <span className="wrap">{change.error.message}</span>
            </p>
          )}
        </div>
        <div className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className={isDanger ? 'button danger' : 'button primary'} disabled={change.isPending}>
            {change.isPending ? 'Saving…' : action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
