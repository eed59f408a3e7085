import type { Model } from '../domain/endpoint.ts';
import type { OfferedModel } from '../providers/model-lists.ts';
import type { Endpoint } from '../providers/provider.ts';
import type { Catalog } from './catalog.ts';
import { describeModel } from './describe-model.ts';
import { guessOutput } from './guess-output.ts';

/** Whether an endpoint stands for all models of a shape, under the names that its provider has for them. */
export const isWildcard = ({ model, upstreamModel }: Endpoint): boolean =>
  model.includes('*') && upstreamModel.includes('*');

/**
 * Returns the models that requests reach through a wildcard: those in the list of its provider that match, without the
 * ones that the configuration names.
 */
export function matchOffered(endpoint: Endpoint, offered: readonly OfferedModel[], catalog: Catalog): Model[] {
  const [before = '', after = ''] = endpoint.upstreamModel.split('*');
  return offered.flatMap(({ name, contextLength, output }) => {
    if (name.length <= before.length + after.length || !name.startsWith(before) || !name.endsWith(after)) return [];
    const id = endpoint.model.replace('*', () => name.slice(before.length, name.length - after.length));
    if (catalog.findModel(id)) return [];
    const known = catalog.findKnown(id)?.model;
    const made = output ?? guessOutput(name);
    return [
      known ??
        describeModel({
          id,
          ...(contextLength === undefined ? undefined : { context_length: contextLength }),
          ...(made === undefined ? undefined : { output: [...made] }),
          canonical_slug: id,
        }),
    ];
  });
}
