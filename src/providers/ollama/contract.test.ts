import { testWholeWire } from '../whole-contract.ts';
import { ollama } from './index.ts';

testWholeWire(ollama, new URL('recordings', import.meta.url), {
  errors: { 'no-model.http': 'model_unavailable', 'one-missing.embedding.http': 'upstream_failed' },
});
