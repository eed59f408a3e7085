import type { ImportReport } from './import-report.ts';

const REFERENCE = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/;
/** Values that stand for no key, as local servers need none. */
const PLACEHOLDER = /^(?:none|null|empty|fake|fake-key|dummy|na|n\/a|not-needed|no-key|anything)$/i;

/**
 * Replaces values of a foreign file with `${NAME}`, so that no key is written or printed. A literal key gets a variable of
 * its own, which the operator sets.
 */
export class KeyVariables {
  private readonly report: ImportReport;
  private readonly taken: Set<string>;
  private readonly byValue = new Map<string, string>();

  /** @param text of the file; its variables are not used for literal keys */
  constructor(text: string, report: ImportReport) {
    this.report = report;
    this.taken = new Set([...text.matchAll(/os\.environ\/(\w+)/g)].map(([, name]) => name!));
  }

  /** Returns a secret as a reference. Undefined if the value stands for none. @param usual name of its variable */
  refer(value: string, usual: string, path: string): string | undefined {
    const known = readReference(value);
    if (known !== undefined) {
      this.report.variables.set(known, `as before, for ${path}`);
      return `\${${known}}`;
    }
    if (PLACEHOLDER.test(value)) return undefined;
    const name = this.byValue.get(value) ?? this.choose(usual);
    if (!this.byValue.has(value)) this.report.variables.set(name, `the value of ${path}, which is in the file itself`);
    this.byValue.set(value, name);
    return `\${${name}}`;
  }

  /** Returns a variable for a new key. */
  choose(usual: string): string {
    const base =
      usual
        .toUpperCase()
        .replace(/\W+/g, '_')
        .replace(/^(?=\d)/, '_') || 'KEY';
    let name = base;
    for (let number = 2; this.taken.has(name); number++) name = `${base}_${number}`;
    this.taken.add(name);
    return name;
  }
}

/** Returns the variable that a value names. Undefined if it names none. */
export const readReference = (value: string): string | undefined => REFERENCE.exec(value.trim())?.[1];

/** Escapes a text of a foreign file, in which `${` has no meaning. */
export const escapeText = (text: string): string => text.replaceAll('${', () => '$${');
