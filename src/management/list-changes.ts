import type { FieldChange } from '../platform/storage/ports/audit.ts';

/** Returns the fields in which two objects differ. Undefined: the object does not exist. */
export function listChanges(before: object | undefined, after: object | undefined): Record<string, FieldChange> {
  const [old, now] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  const changed = names.filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(now.get(name)));
  return Object.fromEntries(
    changed.map((name) => [name, { before: old.get(name) ?? null, after: now.get(name) ?? null }]),
  );
}
