import { expect, it } from 'vitest';
import { openTracing } from './open-tracing.ts';

it('names the packages to install if OpenTelemetry is missing', async () => {
  const settings = {
    endpoint: 'http://localhost:4318',
    headers: {},
    sampling: 1,
    serviceName: 'headgate',
    version: '0',
  };
  const locate = (name: string) => {
    throw new Error(`${name} is not installed.`);
  };
  await expect(openTracing(settings, () => {}, locate)).rejects.toThrow(
    'telemetry.otlp_endpoint needs packages that are not installed. Run: npm install @opentelemetry/api @opentelemetry/sdk-trace @opentelemetry/resources @opentelemetry/exporter-trace-otlp-http',
  );
});
