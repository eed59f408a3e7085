import { expect, it } from 'vitest';
import { writeCall, writeCli } from './commands.ts';

it('writes commands whose words reach the program as they are', () => {
  expect(writeCli(['keys', 'update', `it's`], { limit: 5, 'limit-reset': null, name: '', organization: true })).toBe(
    `headgate keys update 'it'\\''s' --limit 5 --limit-reset none --organization`,
  );
  expect(writeCall('POST', 'https://host/api/v1/keys', { name: '$(id)' })).toBe(
    [
      'curl -X POST https://host/api/v1/keys',
      '  -H "Authorization: Bearer $HEADGATE_MANAGEMENT_KEY"',
      "  -H 'Content-Type: application/json'",
      `  -d '{"name":"$(id)"}'`,
    ].join(' \\\n'),
  );
});
