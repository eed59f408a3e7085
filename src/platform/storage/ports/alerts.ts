import type { Listed, Page } from './page.ts';
import type { NewJob } from './jobs.ts';

export interface AlertRecord {
  /** The same event has the same id. */
  id: string;
  /** Such as `budget`. */
  kind: string;
  /** A sentence. */
  message: string;
  /** JSON. */
  data: string;
  /** When it was raised last. */
  atMs: number;
  /** How often it was raised. */
  count: number;
}

export interface AlertStore {
  /**
   * Raises an alert and creates its jobs, in one transaction, unless it was raised with the same
   * kind in the quiet time before. Any number of processes may raise the same one.
   *
   * @param quietMs `Infinity`: it is raised once
   * @returns whether it was raised
   */
  raiseAlert(alert: Omit<AlertRecord, 'count'>, quietMs: number, jobs: readonly NewJob[]): Promise<boolean>;
  /** Lists the alerts that were raised last first. */
  listAlerts(page: Page): Promise<Listed<AlertRecord>>;
  /** Deletes alerts that were last raised before a time. */
  deleteAlertsBefore(beforeMs: number): Promise<void>;
}
