import type { Issue } from '../domain/errors.ts';
import type { RelationProblem } from './check-relations.ts';
import { formatPath, type Path, parsePath } from './path.ts';
import type { ProviderConfig } from './schema.ts';

/** The problems of a `dialect`, and hints at settings that are valid but probably not meant. Paths begin below it. */
export interface DialectFindings {
  issues: readonly Issue[];
  hints: readonly Issue[];
}

/**
 * Checks a `dialect` with the settings of a wire.
 *
 * @param mayShow whether messages may have values
 */
export type CheckDialect = (
  wire: string,
  settings: Readonly<Record<string, unknown>>,
  mayShow: boolean,
) => DialectFindings;

/** Checks the dialects of all providers and their models. */
export function checkDialects(
  providers: readonly ProviderConfig[],
  check: CheckDialect,
  mayShow: (path: Path) => boolean,
): { problems: RelationProblem[]; warnings: string[] } {
  const problems: RelationProblem[] = [];
  const warnings: string[] = [];
  const visit = (wire: string, settings: ProviderConfig['dialect'], path: Path, wirePath: Path): void => {
    if (settings === undefined) return;
    const { issues, hints } = check(wire, settings, mayShow(path));
    for (const { path: below, message } of issues) {
      problems.push({ path: [...path, ...parsePath(below)], message, dependsOn: [wirePath] });
    }
    for (const { path: below, message } of hints) warnings.push(`${formatPath(path)}.${below} ${message}`);
  };
  for (const [index, { wire, dialect, models }] of providers.entries()) {
    const path = ['providers', index];
    const wirePath = [...path, 'wire'];
    visit(wire, dialect, [...path, 'dialect'], wirePath);
    for (const [at, model] of models.entries()) {
      visit(wire, model.dialect, [...path, 'models', at, 'dialect'], wirePath);
    }
  }
  return { problems, warnings };
}
