// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { isMapping, type Path } from './path.ts';

/** What can be wrong with a value: where, and what to do. The loader adds file and line. */
export interface Problem {
  path: Path;
  message: string;
}

export interface Interpolated {
  tree: unknown;
  problems: Problem[];
  /** Paths (as JSON) of the strings that took something from the environment; messages do not show them. */
  filled: Set<string>;
  /** Names that were asked for, set or not. */
  names: Set<string>;
}

/** Puts the environment into every string: `${NAME}` is the variable, `$${` is `${`. Keys stay as they are. */
export function interpolate(tree: unknown, env: Readonly<Record<string, string | undefined>>): Interpolated {
  const problems: Problem[] = [];
  const filled = new Set<string>();
  const names = new Set<string>();

  function fill(text: string, path: Path): string {
    return text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (found, name: string | undefined, end: string) => {
      if (found === '$${') return '${';
      if (name === undefined || end === '' || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        problems.push({
          path,
          message: 'holds a "${" that begins no ${NAME}; write "$${" for the characters themselves',
        });
        return '';
      }
      names.add(name);
      filled.add(JSON.stringify(path));
      const value = env[name];
      if (value === undefined)
        problems.push({ path, message: `the environment has no ${name}, which \${${name}} asks for` });
      return value ?? '';
    });
  }
  function visit(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return fill(value, path);
    if (Array.isArray(value)) return value.map((item, index) => visit(item, [...path, index]));
    if (!isMapping(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, [...path, key])]));
  }
  return { tree: visit(tree, []), problems, filled, names };
}
