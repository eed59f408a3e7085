import { testWire } from '../contract.ts';
import { aiSdk } from './index.ts';

/** What a package of the SDK hands over: its stream parts, one to a frame; as a whole response all of them in an array. */
testWire(aiSdk, new URL('recordings', import.meta.url), {
  errors: {
    'error-finish.stream.http': 'upstream_failed',
    'error-midway.stream.http': 'upstream_overloaded',
    'rate-limited-midway.stream.http': 'rate_limited',
  },
});
