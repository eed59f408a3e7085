import { type JSX, useState } from 'react';
import { call } from '../api/client.ts';
import type { Workspace } from '../api/types.ts';
import { writeCli } from '../logic/commands.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { draftRates, RateFields, rateOptions, readRates } from '../ui/rate-fields.tsx';
import { Teach } from '../ui/teach.tsx';

const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

/** Creates a workspace, or changes one. */
export function WorkspaceForm({ edited, onClose }: { edited?: Workspace; onClose: () => void }): JSX.Element {
  const isNew = edited === undefined;
  const [name, setName] = useState(edited?.name ?? '');
  const [slug, setSlug] = useState(edited?.slug ?? '');
  const [description, setDescription] = useState(edited?.description ?? '');
  const [model, setModel] = useState(edited?.default_text_model ?? '');
  const [rates, setRates] = useState(draftRates(edited));
  const body = {
    name,
    slug: slug || toSlug(name),
    description: description || null,
    default_text_model: model || null,
    ...readRates(rates),
  };
  return (
    <FormDialog
      title={isNew ? 'Create a workspace' : `Change ${edited.name}`}
      action={isNew ? 'Create workspace' : 'Save'}
      onClose={onClose}
      onSubmit={async () => {
        if (isNew) await call('post', '/api/v1/workspaces', { body });
        else await call('patch', '/api/v1/workspaces/{id}', { params: { id: edited.id }, body });
      }}
    >
      <div className="fields">
        <Field label="Name" value={name} onChange={setName} isRequired placeholder="Research" />
        <Field
          label="Short name"
          value={slug}
          onChange={setSlug}
          placeholder={toSlug(name) || 'research'}
          help="For paths and commands."
        />
      </div>
      <Field label="Description" value={description} onChange={setDescription} />
      <Field
        label="Default model"
        value={model}
        onChange={setModel}
        placeholder="none"
        help="The model of requests that name no model."
      />
      <RateFields draft={rates} onChange={setRates} />
      <Teach
        method={isNew ? 'POST' : 'PATCH'}
        path={isNew ? '/api/v1/workspaces' : `/api/v1/workspaces/${edited.id}`}
        body={body}
        cli={writeCli(isNew ? ['workspaces', 'create'] : ['workspaces', 'update', edited.slug], {
          name,
          slug: body.slug,
          description: body.description ?? (isNew ? undefined : null),
          'default-text-model': body.default_text_model ?? (isNew ? undefined : null),
          ...rateOptions(readRates(rates), !isNew),
        })}
      />
    </FormDialog>
  );
}
