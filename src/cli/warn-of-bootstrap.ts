import { hashKey } from '../access/key-text.ts';
import type { Config } from '../config/schema.ts';
import type { Terminal } from './terminal.ts';

/** A change of an object. */
export interface BootstrapChange {
  /** The section of `bootstrap`, such as `keys`. No entry of another section exists. */
  section: string;
  /** Names, ids and hashes of the object. */
  names: readonly unknown[];
  /** The new values of fields, as in the API. Undefined: it was deleted. */
  changes: Readonly<Record<string, unknown>> | undefined;
}

/** Fields that have another name in the configuration. */
const settingNames: Record<string, string> = { limit: 'credit_usd', limit_reset: 'credit_usd' };
/** Fields of keys that a start restores even if the configuration does not name them. */
const restored = ['name', 'disabled'];

/** Warns that the configuration, which is applied at every start, restores what was changed. */
export function warnOfBootstrap(
  { stderr }: Pick<Terminal, 'stderr'>,
  { bootstrap }: Pick<Config, 'bootstrap'>,
  { section, names, changes }: BootstrapChange,
): void {
  const sections: Readonly<Record<string, unknown>> = bootstrap;
  const entries = (sections[section] ?? []) as Record<string, unknown>[];
  const entry = entries.find(({ key, id, name }) =>
    typeof key === 'string' ? names.includes(hashKey(key)) : names.includes(id ?? name) || names.includes(name ?? id),
  );
  if (!entry) return;
  const isRestored = ([field, value]: [string, unknown]): boolean => {
    const setting = settingNames[field] ?? field;
    return (
      (setting in entry && entry[setting] !== value) ||
      (section === 'keys' && !(setting in entry) && restored.includes(field))
    );
  };
  if (changes && !Object.entries(changes).some(isRestored)) return;
  stderr.write(`It is in bootstrap.${section}: change it there, too, or the next start or reload restores it.\n`);
}
