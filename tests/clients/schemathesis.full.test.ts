import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { patienceMs } from './agent-seat.ts';

/*
 * Schemathesis invents requests from the OpenAPI document, valid and invalid ones. No answer is a server error or one that the
 * document does not describe, and no request is accepted that it forbids. `.ci/run` does not install the program.
 */

/** The version of PyPI that this test was written with. */
const version = '4.32.5';
const program = process.env['HEADGATE_TEST_SCHEMATHESIS'];
const isHere = program !== undefined && existsSync(program);

it.skipIf(isHere)('schemathesis is not here', ({ skip }) => {
  const reason = `HEADGATE_TEST_SCHEMATHESIS names no program of schemathesis==${version}`;
  process.stderr.write(`tests/clients/schemathesis.full.test.ts is skipped: ${reason}\n`);
  skip(reason);
});

it.skipIf(!isHere).each(['key', 'managementKey'] as const)(
  'answers to invented requests are those of the OpenAPI document, with the %s',
  { timeout: 3 * patienceMs },
  async (kind) => {
    const gateway = await testGateway();
    onTestFinished(() => gateway.close());
    const folder = mkdtempSync(join(tmpdir(), 'headgate-schemathesis-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));

    const settings = {
      header: `Authorization: Bearer ${gateway[kind]}`,
      phases: 'fuzzing',
      mode: 'all',
      'max-examples': 2,
      seed: 1,
      workers: 2,
      'suppress-health-check': 'all',
      checks: 'not_a_server_error,response_schema_conformance,content_type_conformance,negative_data_rejection',
      warnings: 'off',
    };
    const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const child = spawn(
      program!,
      ['run', `${gateway.baseUrl}/openapi.json`, ...flags, '--no-shrink', '--continue-on-failure'],
      { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], timeout: 2 * patienceMs },
    );
    const [printed, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);

    expect(status, printed).toBe(0);
    expect(printed).toContain('No issues found');
  },
);
