import { expect } from 'vitest';
import type { LedgerEntry } from '../../src/domain/ledger-entry.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import type { TestGateway } from '../../src/testing/index.ts';

/** The workspace `main` of a test gateway, and its other one. */
export const main = '00000000-0000-4000-8000-0000000000a1';
export const other = '00000000-0000-4000-8000-0000000000a2';

// biome-ignore lint/suspicious/noExplicitAny: whatever the gateway answers; each test says what it must be
export type Json = any;

/** Calls the management API with the management key, or another. */
export function manage(gateway: () => TestGateway) {
  return async (method: string, path: string, body?: unknown, key?: string | null) => {
    const response = await gateway().send(method, path, body, {
      key: key === undefined ? gateway().managementKey : key,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: (text === '' ? '' : JSON.parse(text)) as Json };
  };
}
export type Answer = Awaited<ReturnType<ReturnType<typeof manage>>>;

/** Expects a 400 with exactly these paths in its issues, whose messages contain these texts. */
export function expectIssues(answer: Answer, issues: Record<string, string>): void {
  expect(answer.status, JSON.stringify(answer.body)).toBe(400);
  const { metadata } = answer.body.error;
  expect(metadata.error_type).toBe('invalid_request');
  expect(metadata.issues.map((issue: Json) => issue.path)).toEqual(Object.keys(issues));
  for (const [path, says] of Object.entries(issues)) {
    expect(metadata.issues.find((issue: Json) => issue.path === path).message).toContain(says);
  }
}

/** Records entries as if they were requested at their time. */
export const book = (gateway: TestGateway, ...entries: Partial<LedgerEntry>[]): Promise<void> =>
  gateway.gateway.storage.ledger.append(entries.map((fields) => createTestEntry({ workspaceId: main, ...fields })));

/** Returns the last audit entries, newest first. */
export async function auditOf(ask: ReturnType<typeof manage>, count: number): Promise<Json[]> {
  return (await ask('GET', `/audit?limit=${count}`)).body.data;
}
