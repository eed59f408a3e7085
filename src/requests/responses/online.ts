import type { ResponseRequest } from '../../domain/request.ts';

const suffix = /:online(?=:|$)/i;

/**
 * Adds the plugin `web` to a request that has the suffix `:online` on any of its models. A setting of the plugin in the
 * request wins.
 *
 * @see docs/reference/routing.md#suffixes
 */
export function readOnline(request: ResponseRequest): void {
  const { model, models } = request;
  if (!isOnline(model) && !models?.some(isOnline)) return;
  if (request.plugins?.some(({ id }) => id === 'web')) return;
  request.plugins = [...(request.plugins ?? []), { id: 'web' }];
}

const isOnline = (slug: string | undefined): boolean => slug?.includes(':') === true && suffix.test(slug);
