/** Examples of groups of commands, which their help ends with. */
const examples: Record<string, readonly string[]> = {
  activity: ['activity --since 2026-11-01 --group-by workspace', 'activity --include-today --json'],
  audit: ['audit --limit 20'],
  containers: [
    'containers list --workspace team',
    'containers files list sess_a',
    'containers files download sess_a cfile_b3V0LmNzdg --output out.csv',
    'containers stop sess_a --now',
  ],
  files: ['files upload report.pdf', 'files upload q1.csv --name reports/q1.csv --workspace team', 'files list'],
  guardrails: [
    'guardrails create --name interns --allow-model simulator/echo simulator/writer',
    'guardrails assign interns --key app --member ada',
    'guardrails update interns --zdr all --allow-model none',
    'guardrails update default:main --forbid free-training',
    'guardrails create --name pii --redact email phone --block ssn credit-card',
    "guardrails test --guardrail pii --text 'Write to jane@example.com'",
  ],
  interns: [
    'interns create scout --member ada --provision',
    'interns suspend scout',
    "interns schedules create scout --cron '0 9 * * 1-5' --time-zone Europe/Berlin --input 'Write the report.'",
    "interns schedules create scout --webhook --input 'Triage this issue.'",
  ],
  keys: [
    'keys create --name app --expires 90d',
    'keys create --management --name admin',
    'keys create --name trial --limit 5 --limit-reset monthly',
    'keys update app --limit 20 --name production',
    'keys update app --requests-per-minute 600 --concurrent-requests 20',
    'keys rotate app --grace 1h',
    'keys disable app',
  ],
  members: ['members update ada --requests-per-minute 60', 'members list'],
  presets: [
    'presets save support --body request.json',
    'presets update support --use-version 1',
    'presets list --workspace team',
  ],
  vault: ['vault set github_token --host api.github.com < token.txt', 'vault list', 'vault rotate'],
  workspaces: [
    'workspaces create --name "Research"',
    'workspaces update research --default-text-model router/auto --default-provider-sort price',
    'workspaces budgets research --set daily=20 monthly=300',
    'workspaces members add research ada ben',
    'workspaces delete research',
  ],
};

/** Writes the examples of a command or a group. @param calls instead of examples, if the group has none */
export const writeExamples = (name: string, calls: readonly string[] = []): string =>
  `\nExamples:\n${(examples[name.split(' ')[0]!] ?? calls).map((line) => `  $ headgate ${line}`).join('\n')}`;
