import { testSandboxes } from '../contract.ts';
import { createSimulationDriver } from './simulation-driver.ts';

testSandboxes('simulation', { open: createSimulationDriver, isReal: false });
