import { BubblewrapDriver } from '../../src/platform/sandbox/bubblewrap/bubblewrap-driver.ts';

/** @returns why sandboxes of bubblewrap cannot run here */
export async function probeBubblewrap(): Promise<string | undefined> {
  const driver = new BubblewrapDriver({ folder: `/var/tmp/headgate-probe-${process.pid}`, hidden: [] });
  try {
    return await driver.probe();
  } finally {
    await driver.close();
  }
}
