import { type KnownNames, namesModel, namesProvider } from '../../routing/guardrail.ts';
import type { UpdateGuardrailBody } from './schema.ts';

/**
 * The entries of a body that mean nothing here, a sentence each: a misspelt name would guard nothing. They are kept all
 * the same, since a model or a provider may come later.
 */
export function findUnknown(body: UpdateGuardrailBody, known: KnownNames): string[] {
  const isModel = (entry: string) => namesModel(entry, known);
  const isProvider = (entry: string) => namesProvider(entry, known.endpoints);
  const lists = [
    ['allowed_models', 'model', isModel],
    ['ignored_models', 'model', isModel],
    ['allowed_providers', 'provider', isProvider],
    ['ignored_providers', 'provider', isProvider],
  ] as const;
  return lists.flatMap(([field, what, isKnown]) =>
    [...new Set(body[field])].flatMap((entry) =>
      isKnown(entry) ? [] : [`${field}: ${JSON.stringify(entry)} means no ${what} of this gateway, as it is now.`],
    ),
  );
}
