import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testAccess } from './contract/access.ts';
import { testActivity } from './contract/activity.ts';
import { testAlerts } from './contract/alerts.ts';
import { testArchives } from './contract/archives.ts';
import { testBudgets } from './contract/budgets.ts';
import { testChanges } from './contract/changes.ts';
import { testConsole } from './contract/console.ts';
import { testContainers } from './contract/containers.ts';
import { testContents } from './contract/contents.ts';
import { testCorrections } from './contract/corrections.ts';
import { testCredits } from './contract/credits.ts';
import { testEntries } from './contract/entries.ts';
import { testEntryFeed } from './contract/entry-feed.ts';
import { testEntryLists } from './contract/entry-lists.ts';
import { testFeedback } from './contract/feedback.ts';
import { testFiles } from './contract/files.ts';
import { testGuardrails } from './contract/guardrails.ts';
import { testInternSchedules } from './contract/intern-schedules.ts';
import { testInterns } from './contract/interns.ts';
import { testJobs } from './contract/jobs.ts';
import { testKeyStore } from './contract/keys.ts';
import { testMembers } from './contract/members.ts';
import { testPassages } from './contract/passages.ts';
import { testPresets } from './contract/presets.ts';
import { createTestEntry } from './contract/samples.ts';
import { testSpending } from './contract/spending.ts';
import { testUsage } from './contract/usage.ts';
import { testVaults } from './contract/vaults.ts';
import { testWorkspaces } from './contract/workspaces.ts';
import type { Storage } from './storage.ts';

/**
 * Tests the contract of all drivers. The tests share one database and create unique ids.
 *
 * @param open opens the same database at each call; the first call finds it empty and without a schema
 */
export function testStorage(name: string, open: () => Promise<Storage>): void {
  describe(`storage: ${name}`, () => {
    let storage: Storage;
    let other: Storage; // as in another process

    beforeAll(async () => {
      [storage, other] = await Promise.all([open(), open()]);
    });
    afterAll(async () => {
      await storage.close();
      await other.close();
    });

    it('creates its schema if two processes migrate at once, and changes nothing afterwards', async () => {
      expect(await storage.compareSchema()).toEqual({ isEmpty: true, isOlder: true, problem: undefined });
      await Promise.all([storage.migrate(), other.migrate(), storage.migrate()]);
      await storage.migrate();
      expect(await storage.compareSchema()).toEqual({ isEmpty: false, isOlder: false, problem: undefined });

      expect(await storage.access.readRevision()).toBe(0);
      expect(await storage.access.listKeys()).toEqual([]);
      expect(await storage.access.listWorkspaces()).toEqual([]);
      expect(await storage.access.listMembers()).toEqual([]);
      expect(await storage.access.listMemberships()).toEqual([]);
      expect(await storage.management.listAudit({ offset: 0, limit: 1 })).toEqual({ rows: [], total: 0 });
      expect(await storage.ledger.readTotals()).toEqual({
        entries: 0,
        inputTokens: 0n,
        outputTokens: 0n,
        costNanoUsd: 0n,
      });
    });

    it('responds to a ping, and rejects all calls after close', async () => {
      const unused = await open();
      await unused.close();
      const third = await open();
      await third.ping();
      await third.close();
      await third.close();

      await expect(unused.ping()).rejects.toThrow();
      await expect(third.ping()).rejects.toThrow();
      await expect(third.access.listKeys()).rejects.toThrow();
      await expect(third.ledger.append([createTestEntry()])).rejects.toThrow();
    });

    const pair = () => ({ storage, other });
    testAccess(pair);
    testKeyStore(pair);
    testWorkspaces(pair);
    testMembers(pair);
    testGuardrails(pair);
    testPresets(pair);
    testBudgets(pair);
    testCredits(pair);
    testChanges(pair);
    testEntries(pair);
    testEntryLists(pair);
    testEntryFeed(pair);
    testCorrections(pair);
    testSpending(pair);
    testActivity(pair);
    testContents(pair);
    testFeedback(pair);
    testFiles(pair);
    testPassages(pair);
    testContainers(pair);
    testInternSchedules(pair);
    testJobs(pair);
    testInterns(pair);
    testUsage(pair);
    testAlerts(pair);
    testArchives(pair);
    testConsole(pair);
    testVaults(pair);
  });
}
