import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/*
 * JSON from outside (providers, services, servers, models, sandboxes, callers) is parsed by `parseJson` of
 * `src/domain/parse-json.ts`, which bounds it before it is parsed, or by `readJson` of `src/http/read-json.ts`, which does
 * the same for bodies of requests. These files call `JSON.parse` for other texts. Each call has its reason.
 */
const exempt: Readonly<Record<string, readonly string[]>> = {
  'src/access/load-presets.ts': ['a row of the store'],
  'src/api/chat-completions/handler.ts': ['a body that `readJson` has accepted'],
  'src/management/generations/write-exported.ts': ['a row of the store', 'a row of the store', 'a row of the store'],
  'src/api/home/page.ts': ['runs in the browser'],
  'src/api/interns/relay-chat-stream.ts': ['a frame of another process of the gateway'],
  'src/api/gemini/handler.ts': ['a body that `readJson` has accepted'],
  'src/api/messages/accept-message.ts': ['a body that `readJson` has accepted'],
  'src/catalog/load-catalog.ts': ['a file of the operator'],
  'src/domain/exact-numbers.ts': ['after the check of `parseJson`', 'after the check of `readJson`'],
  'src/domain/request-history.ts': ['a row of the store, which has 16 KiB at most'],
  'src/domain/scan-json.ts': ['the name of one field'],
  'src/exchanges/folder.ts': ['a file of the operator'],
  'src/exchanges/mask.ts': ['serialized by the same line'],
  'src/gateway.ts': ['the package itself'],
  'src/interns/lifecycle/own-intern.ts': ['a row of the store'],
  'src/interns/lifecycle/provision.ts': ['a row of the store'],
  'src/interns/schedules/run-schedule.ts': ['a row of the store'],
  'src/management/files/detect-media-type.ts': ['at most 64 KiB'],
  'src/management/presets/save-preset.ts': ['a row of the store'],
  'src/metering/journal-lines.ts': ['a line of the journal'],
  'src/pipeline/attempts/debug-body.ts': ['serialized by the same line'],
  'src/platform/bus/memory/memory-driver.ts': ['a message of this process'],
  'src/platform/bus/postgres/postgres-driver.ts': ['a notification, which PostgreSQL limits to 8000 bytes'],
  'src/platform/counters/postgres/rate-windows.ts': ['a row of the store'],
  'src/platform/mcp/hide-secrets.ts': ['serialized by the same function'],
  'src/platform/mcp/session-fetch.ts': ['a message of this process'],
  'src/platform/storage/tables/archives.ts': ['a row of the store'],
  'src/platform/storage/tables/audit.ts': ['a row of the store'],
  'src/platform/storage/tables/guardrails.ts': ['a row of the store'],
  'src/platform/storage/tables/late-entries.ts': ['a row of the store'],
  'src/platform/storage/tables/ledger.ts': ['a row of the store'],
  'src/platform/storage/tables/rollup-queue.ts': ['a row of the store'],
  'src/platform/storage/tables/vault-secrets.ts': ['a row of the store', 'a row of the store'],
  'src/platform/storage/tables/workspaces.ts': ['a row of the store'],
  'src/platform/telemetry/pretty-log.ts': ['a line of the log'],
  'src/plugins/response-healing/heal-worker.ts': [
    'a text that a thread with limits has parsed before',
    'a schema that `readJson` has accepted',
  ],
  'src/providers/kit/convert-vector.ts': ['a list that `liftVectors` has checked and bounded'],
  'src/providers/kit/custom-input.ts': ['one string', 'one string'],
  'src/providers/kit/frame-template.ts': ['one string'],
  'src/providers/simulator/chunks.ts': ['a frame of this process'],
  'src/providers/simulator/images.ts': ['a frame of this process'],
  'src/providers/simulator/language.ts': ['a file of the package'],
  'src/requests/responses/merge-preset.ts': ['a row of the store'],
};

/** Run elsewhere: in a process of an operator, in a sandbox, in tests. */
const elsewhere = /^src\/(?:cli|interns\/agent|testing)\/|\.test\.ts$|contract\.ts$/;

it('bounds JSON from outside before it is parsed', () => {
  const root = new URL('../../', import.meta.url).pathname;
  const found: Record<string, number> = {};
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    if (elsewhere.test(file)) continue;
    const code = readFileSync(`${root}${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '');
    const calls = code.match(/\bJSON\.parse\b|\.json\(\)/g)?.length ?? 0;
    if (calls > 0) found[file] = calls;
  }
  const expected = Object.fromEntries(Object.entries(exempt).map(([file, reasons]) => [file, reasons.length]));
  expect(found, 'Use `parseJson`. A text that is not from outside has a row here, with its reason.').toEqual(expected);
});
