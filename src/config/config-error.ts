import type { LoadedConfig } from './load.ts';
import type { Path } from './path.ts';

/** An invalid configuration. `problems` has one line per problem and no secrets. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  /** Returns the rest of the configuration if the needed values are valid, else undefined. */
  readonly findSound: (needed: readonly Path[]) => LoadedConfig | undefined;
  /** False if the named file does not exist or is not valid YAML, so nothing in it is known. */
  readonly isRead: boolean;

  constructor(problems: readonly string[], findSound?: ConfigError['findSound']) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
    this.findSound = findSound ?? (() => undefined);
    this.isRead = findSound !== undefined;
  }
}
