import { setTimeout as delay } from 'node:timers/promises';

/*
 * Days, weeks and months of budgets and activity begin at midnight UTC. A test that books before and reads after it sees
 * other sums. A file that would start shortly before midnight starts after it. Almost all files end within this time.
 */
const DAY_MS = 86_400_000;
const MARGIN_MS = 45_000;

const leftMs = DAY_MS - (Date.now() % DAY_MS);
if (leftMs < MARGIN_MS) await delay(leftMs + 100);
