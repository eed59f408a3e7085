import type { LoadedConfig } from '../config/load.ts';
import type { readRoutingContext } from './read-routing-context.ts';
import { readMessage, type Terminal } from './terminal.ts';

/**
 * Prints on stderr which names match nothing in a gateway with this configuration. The command still makes the change,
 * because models and providers may be added later.
 *
 * @param find returns the warnings, one sentence each
 */
export async function warnAboutUnknownNames(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  find: (routingContext: ReturnType<typeof readRoutingContext>) => string[],
): Promise<void> {
  const say = (message: string): void => void stderr.write(`headgate: ${message}\n`);
  if (!loaded.isComplete) {
    say('names of models and providers are not checked, because the configuration has errors.');
    return;
  }
  try {
    const { readRoutingContext } = await import('./read-routing-context.ts');
    for (const warning of find(readRoutingContext(loaded, say))) say(`${warning} It is saved anyway.`);
  } catch (error) {
    say(`the models could not be read: ${readMessage(error)}`);
  }
}
