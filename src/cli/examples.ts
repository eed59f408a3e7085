/* The examples in the help of each command. */

export const mainExamples = `
Examples:
  $ npx headgate                      serve with the defaults; the first start prints two keys
  $ npx headgate init                 write headgate.yaml
  $ npx headgate start --port 9000
  $ npx headgate doctor               what is wrong, and how to fix it
  $ npx headgate keys create --name app`;

export const startExamples = `
Examples:
  $ headgate start --config /etc/headgate.yaml --data /var/lib/headgate
  $ HEADGATE_SERVER_PORT=9000 headgate start
  $ headgate start --workers auto

SIGHUP, or saving the file, reloads it. SIGTERM lets open requests finish; a second one does not.`;

export const initExamples = `
Examples:
  $ OPENAI_API_KEY=... headgate init
  $ headgate init --output staging.yaml
  $ headgate init --from litellm config.yaml`;

export const doctorExamples = `
Examples:
  $ headgate doctor --probe
  $ headgate doctor --config staging.yaml && headgate start --config staging.yaml`;

export const explainExamples = `
Examples:
  $ echo '{"model": "router/auto", "input": "Translate: hello"}' | headgate explain --body -
  $ headgate explain --body request.json --json`;

export const recordExamples = `
Examples:
  $ headgate record --provider groq --model llama-3.3-70b-versatile --body hello.json --out report
  $ headgate replay report/hello.stream.http
  $ headgate replay report/hello.whole.http --json`;

export const keysExamples = `
Examples:
  $ KEY=$(headgate keys create --name app --expires 90d)
  $ headgate keys create --management --name admin
  $ headgate keys create --name trial --limit 5 --limit-reset monthly
  $ headgate keys list
  $ headgate keys update app --limit 20 --name production
  $ headgate keys update app --requests-per-minute 600 --concurrent-streams 20
  $ headgate keys rotate app --grace 1h
  $ headgate keys disable app`;

export const workspacesExamples = `
Examples:
  $ headgate workspaces create --name "Research"
  $ headgate workspaces update research --default-text-model router/auto --default-provider-sort price
  $ headgate workspaces budgets research --set daily=20 monthly=300
  $ headgate workspaces members research --add ada ben
  $ headgate workspaces delete research`;

export const membersExamples = `
Examples:
  $ headgate members list
  $ headgate members update ada --requests-per-minute 60 --tokens-per-minute none
  $ headgate workspaces members research --add ada`;

export const presetsExamples = `
Examples:
  $ headgate presets save support --body request.json
  $ headgate presets update support --use-version 1
  $ headgate presets list --workspace team`;

export const filesExamples = `
Examples:
  $ headgate files upload report.pdf
  $ headgate files upload q1.csv --name reports/q1.csv --workspace team
  $ headgate files list`;

export const containersExamples = `
Examples:
  $ headgate containers list --workspace team
  $ headgate containers files sess_a
  $ headgate containers stop sess_a --now`;

export const guardrailsExamples = `
Examples:
  $ headgate guardrails create --name interns --allow-model simulator/echo simulator/writer
  $ headgate guardrails assign interns --key app --member ada
  $ headgate guardrails update interns --zdr all --allow-model none
  $ headgate guardrails update default:main --forbid free-training
  $ headgate guardrails create --name pii --redact email phone --block ssn credit-card
  $ headgate guardrails test --guardrail pii --text 'Write to jane@example.com'
  $ headgate guardrails list`;

export const ledgerExamples = `
Examples:
  $ headgate ledger recompute --since 2026-11-01
  $ headgate ledger recompute --since 2026-11-01 --until 2026-11-14 --model openai/gpt-5-mini --apply
  $ headgate ledger show gen-06ZV7Q0D3RPGK4M2T9XWYB1CEH

In SQLite "recompute --apply" works while the gateway is stopped, in PostgreSQL also while it runs.`;

export const budgetsExamples = `
Examples:
  $ headgate budgets
  $ headgate budgets --json

Budgets are set in the configuration (budgets), by "headgate workspaces budgets", "guardrails", "keys" and "credits".`;

export const creditsExamples = `
Examples:
  $ headgate credits add 100 --note "invoice 7"
  $ headgate credits show
  $ headgate credits off

A running gateway takes them over within a second. What was spent before counts as well.`;

export const requestsExamples = `
Examples:
  $ headgate requests
  $ headgate requests --follow
  $ headgate requests --failed --since 2026-11-01 --json
  $ headgate requests show

The list is that of the ledger: requests that reached no model are in the log alone.`;

export const openApiExamples = `
Examples:
  $ headgate openapi > openapi.json`;

export const modelsExamples = `
Examples:
  $ headgate models
  $ headgate models claude --json
  $ headgate models --all 'gpt mini'
  $ headgate models refresh

Nothing is fetched but by "refresh". A running gateway takes its file over at the next reload (SIGHUP) or start.`;
