import { ConfigError } from '../config/config-error.ts';
import type { LoadedConfig } from '../config/load.ts';
import { docsUrl } from '../domain/docs-url.ts';
import { checkClocks } from './checks/clock.ts';
import { checkContentFilters } from './checks/content-filters.ts';
import { checkCounters } from './checks/counters.ts';
import { checkFileBucket } from './checks/file-bucket.ts';
import type { Finding } from './checks/finding.ts';
import { checkLearnedRules } from './checks/learned-rules.ts';
import { checkDataDir, checkMasterKey, checkNode, checkWorkers } from './checks/machine.ts';
import { checkMcpServers } from './checks/mcp-servers.ts';
import { checkModels } from './checks/models.ts';
import { checkModeration } from './checks/moderation.ts';
import { checkRemovedKeys } from './checks/removed-keys.ts';
import { checkPluginModules, checkToolModules } from './checks/plugins.ts';
import { checkPort } from './checks/port.ts';
import { checkPrices } from './checks/prices.ts';
import { checkProvider } from './checks/provider.ts';
import { checkQuarantine } from './checks/quarantine.ts';
import { checkSandbox } from './checks/sandbox.ts';
import { checkSearchEngines } from './checks/search-engines.ts';
import { checkStorage } from './checks/storage.ts';
import { type Color, colorize, type Terminal } from './terminal.ts';

export interface DoctorOptions {
  /** Requests the models of each provider, with each of its keys, makes a search with each search engine, and a moderation, analyzes a sentence, stores an object in the bucket of files, and lists the tools of each MCP server. */
  probe?: boolean;
}

const colors: Record<Finding['status'], Color> = { ok: 'green', warn: 'yellow', fail: 'red' };

/**
 * Checks the requirements of a start and prints how to fix problems. Changes nothing.
 *
 * @returns the exit code: 1 if there is a problem
 */
export async function doctor(terminal: Terminal, load: () => LoadedConfig, options: DoctorOptions): Promise<number> {
  const findings = [checkNode(process.versions.node)];
  const loaded = tryLoad(load, findings);
  if (loaded instanceof ConfigError) {
    findings.push(...(await checkSound(loaded)), {
      status: 'warn',
      subject: 'others',
      says: 'not checked, because they need the configuration',
      fix: `Correct the lines above. ${docsUrl('reference/configuration')} lists every key.`,
    });
  } else {
    const { config, dataDir } = loaded;
    findings.push(...checkWorkers(config));
    findings.push(await checkDataDir(dataDir), await checkMasterKey(config, dataDir));
    const store = await checkStorage(config);
    findings.push(store, await checkCounters(config, store), await checkPort(config.server, dataDir));
    findings.push(...(await checkClocks(config, store)));
    findings.push(
      ...(await checkFileBucket(config, { probe: options.probe ?? false })),
      ...(await checkQuarantine(dataDir)),
      ...(await checkRemovedKeys(config)),
      ...(await checkModels(loaded)),
      ...(await checkPluginModules(config)),
      ...(await checkToolModules(config)),
    );
    const byProvider = await Promise.all(
      config.providers.map((one) => checkProvider(one, { probe: options.probe ?? false })),
    );
    findings.push(...byProvider.flat(), ...(await checkLearnedRules(loaded)), ...(await checkPrices(loaded)));
    findings.push(await checkSandbox(loaded));
    findings.push(...(await checkSearchEngines(config, { probe: options.probe ?? false })));
    findings.push(...(await checkMcpServers(config, { probe: options.probe ?? false })));
    findings.push(...(await checkContentFilters(config, { probe: options.probe ?? false })));
    findings.push(...(await checkModeration(loaded, { probe: options.probe ?? false })));
  }
  printFindings(terminal, findings);
  return findings.some(({ status }) => status === 'fail') ? 1 : 0;
}

/** Checks the valid parts of a configuration with errors, so that one run finds all problems. */
async function checkSound(error: ConfigError): Promise<Finding[]> {
  const forSecrets = error.findSound([['secrets']]);
  const forStore = error.findSound([['storage', 'url']]);
  const forPort = error.findSound([
    ['server', 'host'],
    ['server', 'port'],
  ]);
  const checks = [
    forSecrets && checkDataDir(forSecrets.dataDir),
    forSecrets && checkMasterKey(forSecrets.config, forSecrets.dataDir),
    forStore && checkStorage(forStore.config),
    forPort && checkPort(forPort.config.server, forPort.dataDir),
  ];
  return (await Promise.all(checks)).filter((finding) => finding !== undefined);
}

function tryLoad(load: () => LoadedConfig, findings: Finding[]): LoadedConfig | ConfigError {
  try {
    const loaded = load();
    findings.push({ status: 'ok', subject: 'config', says: loaded.file ?? 'no file, so the defaults' });
    for (const warning of loaded.warnings) findings.push({ status: 'warn', subject: 'config', says: warning });
    for (const { id, variable } of loaded.discovered) {
      findings.push({ status: 'ok', subject: id, says: `auto-configured from ${variable}` });
    }
    return loaded;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) findings.push({ status: 'fail', subject: 'config', says: problem });
    return error;
  }
}

function printFindings(terminal: Terminal, findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  for (const { status, subject, says, fix } of findings) {
    const word = colorize(terminal, colors[status], status.padEnd(4));
    terminal.stdout.write(`${word}  ${subject.padEnd(width)}  ${says}\n`);
    if (fix !== undefined) terminal.stdout.write(`${' '.repeat(width + 8)}${colorize(terminal, 'dim', `-> ${fix}`)}\n`);
  }
  const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length;
  const [broken, warned] = [count('fail'), count('warn')];
  terminal.stdout.write(`\n${writeVerdict(broken, warned)}\n`);
}

function writeVerdict(broken: number, warned: number): string {
  if (broken + warned === 0) return 'All is well.';
  const warnings = warned === 0 ? '' : warned === 1 ? ', 1 warning' : `, ${warned} warnings`;
  return `${broken === 0 ? 'No problems' : broken === 1 ? '1 problem' : `${broken} problems`}${warnings}.`;
}
