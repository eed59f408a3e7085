import type { ResponseRequest } from '../../domain/request.ts';

const suffix = /:online(?=:|$)/i;

/**
 * Adds the plugin `web` to a request that has the suffix `:online` on any of its models. A setting of the plugin in the
 * request wins.
 *
 * @see docs/reference/routing.md#suffixes
 */
export function readOnline(request: ResponseRequest): void {
  if (findOnline(request) === undefined) return;
  if (request.plugins?.some(({ id }) => id === 'web')) return;
  request.plugins = [...(request.plugins ?? []), { id: 'web' }];
}

/** @returns the path of the first model with the suffix; undefined: none has it */
export function findOnline({ model, models }: Pick<ResponseRequest, 'model' | 'models'>): string | undefined {
  if (isOnline(model)) return 'model';
  const index = models?.findIndex(isOnline) ?? -1;
  return index === -1 ? undefined : `models[${index}]`;
}

const isOnline = (slug: string | undefined): boolean => slug?.includes(':') === true && suffix.test(slug);
