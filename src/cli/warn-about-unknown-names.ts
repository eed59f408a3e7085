import type { LoadedConfig } from '../config/load.ts';
import { readRoutingContext } from './read-routing-context.ts';
import { readMessage, type Terminal } from './terminal.ts';

/**
 * Says on stderr which names mean nothing to a gateway with this configuration. The change that has them is made, since
 * models and providers may come later.
 *
 * @param find the warnings, a sentence each
 */
export function warnAboutUnknownNames(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  find: (routingContext: ReturnType<typeof readRoutingContext>) => string[],
): void {
  const say = (message: string): void => void stderr.write(`headgate: ${message}\n`);
  if (!loaded.isComplete) {
    say('names of models and providers are not checked, because the configuration has errors.');
    return;
  }
  try {
    for (const warning of find(readRoutingContext(loaded, say))) say(`${warning} It is saved anyway.`);
  } catch (error) {
    say(`the models could not be read: ${readMessage(error)}`);
  }
}
