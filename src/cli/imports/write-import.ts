import { stringify } from 'yaml';
import { docsUrl } from '../../domain/docs-url.ts';
import type { Imported } from './import-litellm.ts';
import { writeNotes } from './import-report.ts';

/** Writes an imported configuration, with everything that was not carried as comments. It contains no keys. */
export function writeImport({ config, report }: Imported, source: string): string {
  const comment = (title: string, lines: readonly string[]): string =>
    lines.length === 0 ? '' : `\n# ${title}\n${lines.map((line) => `#   ${line}\n`).join('')}`;
  return [
    `# Headgate, imported from a configuration of ${source}. Every key: ${docsUrl('reference/configuration')}\n`,
    '# "headgate doctor" checks this file.\n',
    comment(
      'Variables that it needs:',
      writeNotes([...report.variables].map(([path, message]) => ({ path, message }))),
    ),
    comment('Not carried over:', writeNotes(report.notCarried)),
    comment('Different from before:', writeNotes(report.changed)),
    '\n',
    stringify(config, { lineWidth: 120, aliasDuplicateObjects: false }),
  ].join('');
}

/** Returns lines for the terminal: what was imported, which variables to set, and what is missing. */
export function describeImport({ config, report }: Imported): string[] {
  const providers = (config['providers'] ?? []) as { models: unknown[] }[];
  const keys = ((config['bootstrap'] ?? {}) as { keys?: unknown[] }).keys ?? [];
  const models = providers.reduce((sum, provider) => sum + provider.models.length, 0);
  const part = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
  return [
    `Imported: ${providers.length} providers, ${models} endpoints, ${keys.length} keys.`,
    ...part('Set these variables:', writeNotes([...report.variables].map(([path, message]) => ({ path, message })))),
    ...part('Not carried over:', writeNotes(report.notCarried)),
    ...part('Different from before:', writeNotes(report.changed)),
  ];
}
