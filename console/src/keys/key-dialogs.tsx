import { type JSX, useState } from 'react';
import { apiUrl, call } from '../api/client.ts';
import type { Key } from '../api/types.ts';
import { writeCli } from '../logic/commands.ts';
import { Code } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Choice } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { Teach } from '../ui/teach.tsx';

/** Shows the text of a new key. The gateway has only its hash, so it cannot show it again. */
export function ShowKey({ text, onClose }: { text: string; onClose: () => void }): JSX.Element {
  return (
    <Dialog title="The new key" onClose={onClose} isDismissable={false}>
      <div className="dialog-body">
        <p className="notice warn">
          <Icon name="warning" />
          <span>Copy the key now. It is shown only once.</span>
        </p>
        <Code text={text} label="Copy key" />
        <p className="soft">Try it:</p>
        <Code
          text={`export HEADGATE_KEY=${text}\ncurl ${apiUrl('/api/v1/responses').href} \\\n  -H "Authorization: Bearer $HEADGATE_KEY" -H 'Content-Type: application/json' \\\n  -d '{"model": "simulator/echo", "input": "Hello"}'`}
        />
      </div>
      <div className="dialog-foot">
        <button type="button" className="button primary" onClick={onClose}>
          I have copied it
        </button>
      </div>
    </Dialog>
  );
}

const graces = [
  ['0', 'at once'],
  ['3600', 'in an hour'],
  ['86400', 'in a day'],
] as const;
const cliGraces: Record<string, string | undefined> = { 0: undefined, 3600: '1h', 86400: '1d' };

/** Replaces a key with a new one that has the same settings. */
export function RotateKey({
  edited,
  onCreated,
  onClose,
}: {
  edited: Key;
  onCreated: (key: string) => void;
  onClose: () => void;
}): JSX.Element {
  const [grace, setGrace] = useState('3600');
  const body = { grace_seconds: Number(grace) };
  return (
    <FormDialog
      title={`Rotate ${edited.name || edited.label}`}
      action="Rotate"
      onClose={onClose}
      onSubmit={() => call('post', '/api/v1/keys/{hash}/rotate', { params: { hash: edited.hash }, body })}
      onDone={({ key }) => onCreated(key)}
    >
      <p>A new key takes over the settings and the spending of this one. Choose when the old key stops working.</p>
      <Choice label="The old key stops working" value={grace} onChange={setGrace} options={graces} />
      <Teach
        method="POST"
        path={`/api/v1/keys/${edited.hash}/rotate`}
        body={body}
        cli={writeCli(['keys', 'rotate', edited.hash.slice(0, 12)], { grace: cliGraces[grace] })}
      />
    </FormDialog>
  );
}

/** Disables, enables or deletes a key. */
export function StopKey({
  edited,
  action,
  onClose,
}: {
  edited: Key;
  action: 'disable' | 'enable' | 'delete';
  onClose: () => void;
}): JSX.Element {
  const { hash } = edited;
  const word = { disable: 'Disable', enable: 'Enable', delete: 'Delete' }[action];
  const body = action === 'delete' ? undefined : { disabled: action === 'disable' };
  const texts = {
    disable: 'Requests with this key are rejected until it is enabled again.',
    enable: 'Requests with this key are accepted again.',
    delete: 'Requests with this key are rejected from now on. Its requests and its spending stay in the ledger.',
  };
  return (
    <FormDialog
      title={`${word} ${edited.name || edited.label}`}
      action={word}
      isDanger={action !== 'enable'}
      onClose={onClose}
      onSubmit={async () => {
        if (body === undefined) await call('delete', '/api/v1/keys/{hash}', { params: { hash } });
        else await call('patch', '/api/v1/keys/{hash}', { params: { hash }, body });
      }}
    >
      <p>{texts[action]}</p>
      <Teach
        method={action === 'delete' ? 'DELETE' : 'PATCH'}
        path={`/api/v1/keys/${hash}`}
        body={body}
        cli={writeCli(['keys', action, hash.slice(0, 12)])}
      />
    </FormDialog>
  );
}
