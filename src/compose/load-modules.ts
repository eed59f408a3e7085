import { pathToFileURL } from 'node:url';

/** A module of the operator. */
export interface LoadedModule {
  readonly path: string;
  /** Its default export: an object, or each entry of a list. */
  readonly definition: Record<string, unknown>;
}

/**
 * Loads modules of the operator.
 *
 * @param setting that lists them, for messages: `tools.modules`
 * @throws with a message for the operator
 */
export async function loadModules(paths: readonly string[], setting: string): Promise<LoadedModule[]> {
  const loaded = await Promise.all(paths.map((path) => loadModule(path, setting)));
  return loaded.flat();
}

async function loadModule(path: string, setting: string): Promise<LoadedModule[]> {
  const module = await import(pathToFileURL(path).href).catch((error: unknown) => {
    throw new Error(`${setting}: ${path} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  });
  const { default: exported } = module as { default?: unknown };
  const definitions: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  return definitions.map((definition) => {
    if (typeof definition === 'object' && definition !== null) {
      return { path, definition: definition as Record<string, unknown> };
    }
    throw new Error(`${setting}: ${path} has no default export that is an object or a list of objects.`);
  });
}
