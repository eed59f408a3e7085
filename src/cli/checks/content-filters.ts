import { createContentGuardrails } from '../../compose/create-content-guardrails.ts';
import { checkBootstrapGuardrails } from '../../compose/run-bootstrap.ts';
import type { Config } from '../../config/schema.ts';
import { ServiceError } from '../../domain/service.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

/**
 * Checks the guardrails of the configuration, and the analyzer of names and addresses. With `probe`, the analyzer gets a
 * sentence. Returns nothing if there is neither.
 */
export async function checkContentFilters(config: Config, { probe }: { probe: boolean }): Promise<Finding[]> {
  const contentFilters = createContentGuardrails(
    () => config,
    () => {},
  );
  const findings: Finding[] = [];
  if (config.bootstrap.guardrails.length > 0) {
    const [subject, says] = ['guardrails', `${config.bootstrap.guardrails.length} in bootstrap.guardrails`];
    const problem = await checkBootstrapGuardrails({ contentFilters }, config.bootstrap).then(
      () => undefined,
      readMessage,
    );
    findings.push(
      problem === undefined
        ? { status: 'ok', subject, says }
        : { status: 'fail', subject, says: problem, fix: 'Correct the rules; they are those of the management API.' },
    );
  }
  const { analyzer_url: url, analyzer_on_failure } = config.guardrails;
  const { recognizer, timeoutMs } = contentFilters.entities();
  if (!recognizer) return findings;
  const subject = 'analyzer';
  if (!probe) return [...findings, { status: 'ok', subject, says: `at ${url}` }];
  try {
    const { signal } = new AbortController();
    await recognizer.recognize('Jane lives in London.', ['PERSON', 'LOCATION'], { timeoutMs, signal });
    return [...findings, { status: 'ok', subject, says: `at ${url}, which responds` }];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const effect = analyzer_on_failure === 'reject' ? 'are rejected' : 'pass without its findings';
    return [
      ...findings,
      {
        status: 'fail',
        subject,
        says: `${error.message} Requests that need it ${effect}.`,
        fix: 'Check guardrails.analyzer_url and analyzer_timeout_ms, and that the analyzer is running.',
      },
    ];
  }
}
