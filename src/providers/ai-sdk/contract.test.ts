import { testWire } from '../contract.ts';
import { aiSdk } from './index.ts';

/** The stream parts of an SDK package, one per frame. As a whole response all of them are in an array. */
testWire(aiSdk, new URL('recordings', import.meta.url), {
  errors: {
    'error-finish.stream.http': 'upstream_failed',
    'error-midway.stream.http': 'upstream_overloaded',
    'rate-limited-midway.stream.http': 'rate_limited',
  },
});
