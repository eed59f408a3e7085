// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { isMapping, type Path } from './path.ts';

/** An invalid value: its path and the remedy. The loader adds file and line. */
export interface Problem {
  path: Path;
  message: string;
}

export interface Interpolated {
  tree: unknown;
  problems: Problem[];
  /** Paths (as JSON) of the strings that contain environment variables. Messages do not show them. */
  filled: Set<string>;
  /** Names of the referenced variables, set or not. */
  names: Set<string>;
}

/** A name, and what counts if the variable is not set or empty, as in a shell. */
const reference = /^(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::(?<sign>[-?])(?<text>.*))?$/s;

/**
 * Replaces `${NAME}` in every string with the variable, `${NAME:-default}` with a default if it is not set or empty, and `$${`
 * with `${`. `${NAME:?message}` reports the message then. Does not change keys.
 */
export function interpolate(tree: unknown, env: Readonly<Record<string, string | undefined>>): Interpolated {
  const problems: Problem[] = [];
  const filled = new Set<string>();
  const names = new Set<string>();

  function fill(text: string, path: Path): string {
    return text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (found, inside: string | undefined, end: string) => {
      if (found === '$${') return '${';
      const parts = end === '' ? undefined : reference.exec(inside ?? '')?.groups;
      if (!parts) {
        problems.push({
          path,
          message: 'contains a "${" without a valid ${NAME}; write "$${" for a literal "${"',
        });
        return '';
      }
      const { name = '', sign, text: other = '' } = parts;
      names.add(name);
      filled.add(JSON.stringify(path));
      const value = sign !== undefined && env[name] === '' ? undefined : env[name];
      if (value !== undefined) return value;
      if (sign === '-') return other;
      const why = other === '' ? '' : `: ${other}`;
      problems.push({ path, message: `the environment variable ${name} is not set${why}` });
      return '';
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
