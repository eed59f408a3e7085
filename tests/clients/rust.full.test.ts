import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { examplesConfig, readExamples } from '../docs/run-examples.ts';

/** Keeps the compiled crates, which take three minutes of two cores at first. */
const target = process.env['HEADGATE_TEST_RUST'];
const patienceMs = 900_000;

describe('the client for Rust', () => {
  it.skipIf(target)('is not here', ({ skip }) => {
    const reason = 'HEADGATE_TEST_RUST names no folder for compiled crates, such as /tmp/rust';
    process.stderr.write(`tests/clients/rust.full.test.ts is skipped: ${reason}\n`);
    skip(reason);
  });

  it.skipIf(!target)('runs the program of the guide as it stands', { timeout: patienceMs }, async () => {
    const gateway = await testGateway(examplesConfig);
    onTestFinished(() => gateway.close());
    const programs = readExamples('docs/guides/clients.md', 'rust', gateway);
    expect(programs).toHaveLength(1);
    const own = mkdtempSync(join(tmpdir(), 'headgate-rust-'));
    onTestFinished(() => rmSync(own, { recursive: true }));
    cpSync(join(import.meta.dirname, 'rust/Cargo.toml'), join(own, 'Cargo.toml'));
    mkdirSync(join(own, 'src'));
    writeFileSync(join(own, 'src/main.rs'), programs[0]!.code);
    const { stdout } = await promisify(execFile)('cargo', ['run', '--quiet'], {
      cwd: own,
      env: { ...process.env, CARGO_TARGET_DIR: target, HEADGATE_KEY: gateway.key },
    });
    expect(stdout.trim().split('\n')).toEqual([expect.stringContaining('Hello'), expect.stringContaining('Hello')]);
  });
});
