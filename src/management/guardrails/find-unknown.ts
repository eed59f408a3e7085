import { type KnownNames, namesModel, namesProvider } from '../../routing/guardrail.ts';
import { explainUnknown } from '../explain-unknown.ts';
import type { GuardrailSettingsBody } from './schema.ts';

/**
 * Returns a warning for each entry of a body that matches nothing here, with the nearest name that does: a misspelled
 * name would guard nothing. The entries are stored anyway, since a model or a provider may be added later.
 */
export function findUnknownEntries(body: GuardrailSettingsBody, known: KnownNames): string[] {
  const isModel = (entry: string) => namesModel(entry, known);
  const isProvider = (entry: string) => namesProvider(entry, known.endpoints);
  const lists = [
    ['allowed_models', 'model', isModel, listModels],
    ['ignored_models', 'model', isModel, listModels],
    ['allowed_providers', 'provider', isProvider, listProviders],
    ['ignored_providers', 'provider', isProvider, listProviders],
  ] as const;
  return lists.flatMap(([field, what, isKnown, list]) =>
    [...new Set(body[field])].flatMap((entry) =>
      isKnown(entry) ? [] : [explainUnknown(field, entry, what, list(known, entry))],
    ),
  );
}

/** Returns models for a slug, and patterns of all authors for a pattern. */
function listModels({ models, endpoints }: KnownNames, entry: string): string[] {
  if (!entry.includes('*')) return models.filter(({ hidden }) => !hidden).map(({ id }) => id);
  const authors = endpoints.flatMap(({ model }) => (model.includes('/') ? [model.split('/', 1)[0]] : []));
  return [...new Set(authors)].map((author) => `${author}/*`);
}

const listProviders = ({ endpoints }: KnownNames): string[] => [
  ...new Set(endpoints.flatMap(({ provider, tag }) => [provider.id, tag])),
];
