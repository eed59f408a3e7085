import { testCounters } from '../contract.ts';
import { MemoryCounters } from './memory-counters.ts';

const shared = new MemoryCounters();
testCounters('memory', async () => shared);
