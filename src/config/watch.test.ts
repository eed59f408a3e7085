import { describe, expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import { type LoadedConfig, loadConfig } from './load.ts';
import type { Config } from './schema.ts';
import { type ConfigReport, type WatchEnvironment, watchConfig } from './watch.ts';

const withEnv = (env: Record<string, string>): LoadedConfig => ({
  ...loadConfig({ env, cwd: import.meta.dirname }),
  file: '/etc/headgate.yaml',
});

/** A watcher with manual timers and files. */
function watcher(load: () => LoadedConfig, apply?: (config: Config) => Promise<void>) {
  const reports: ConfigReport[] = [];
  const applied: Config[] = [];
  let hangUp = () => {};
  let change = (_: string | undefined) => {};
  const timers: (() => void)[] = [];
  const environment: WatchEnvironment & { text: string } = {
    text: 'a',
    watchFolder(folder, onChange) {
      expect(folder).toBe('/etc');
      change = onChange;
      return () => {};
    },
    readText: () => environment.text,
    startTimer: (onEnd) => {
      timers.push(onEnd);
      return () => void timers.splice(timers.indexOf(onEnd), 1);
    },
    onHangUp: (reload) => {
      hangUp = reload;
      return () => {};
    },
  };
  const stop = watchConfig({
    running: withEnv({}),
    load,
    apply: apply ?? (async (config) => void applied.push(config)),
    report: (report) => void reports.push(report),
    environment,
  });
  const save = (text: string, name: string | undefined = 'headgate.yaml') => {
    environment.text = text;
    change(name);
  };
  return { reports, applied, timers, save, stop, hangUp: () => hangUp() };
}

describe('watching the configuration', () => {
  it('applies live settings and reports those that need a restart', async () => {
    const watched = watcher(() =>
      withEnv({ HEADGATE_LOG_LEVEL: 'debug', HEADGATE_SERVER_PORT: '1', HEADGATE_STORAGE_URL: 'file:/x' }),
    );
    watched.hangUp();
    await watched.stop();
    expect(watched.reports).toEqual([]); // stopped before it started

    const other = watcher(() =>
      withEnv({ HEADGATE_LOG_LEVEL: 'debug', HEADGATE_SERVER_PORT: '1', HEADGATE_STORAGE_URL: 'file:/x' }),
    );
    other.hangUp();
    await expect
      .poll(() => other.reports)
      .toEqual([
        { message: 'config reloaded', changed: ['log.level'] },
        { message: 'config restart required', changed: ['server.port', 'storage.url'] },
      ]);
    expect(other.applied).toHaveLength(1);
    expect(other.applied[0]).toMatchObject({ log: { level: 'debug' }, server: { port: 8787 } });
  });

  it('reloads once per save, after the last write, and only if the text has changed', async () => {
    let loads = 0;
    const watched = watcher(() => withEnv({ HEADGATE_TIMEOUTS_IDLE_MS: String(++loads) }));
    watched.save('a');
    watched.timers.shift()!();
    watched.save('b', 'headgate.db-wal');
    expect(watched.timers).toHaveLength(0);
    watched.save('b');
    watched.save('b', '..data');
    expect(watched.timers).toHaveLength(1);
    expect(loads).toBe(0);
    watched.timers.shift()!();
    await expect.poll(() => watched.reports).toEqual([{ message: 'config reloaded', changed: ['timeouts.idle_ms'] }]);
  });

  it('keeps the old configuration if the new one is invalid, and says why', async () => {
    let next: () => LoadedConfig = () => {
      throw new ConfigError(['headgate.yaml:1: a', 'headgate.yaml:2: b']);
    };
    const watched = watcher(() => next());
    watched.hangUp();
    await expect
      .poll(() => watched.reports)
      .toEqual([{ message: 'config rejected', problems: ['headgate.yaml:1: a', 'headgate.yaml:2: b'] }]);
    expect(watched.applied).toEqual([]);
    next = () => withEnv({});
    watched.hangUp();
    await expect.poll(() => watched.reports.at(-1)).toEqual({ message: 'config reloaded', changed: [] });
    expect(watched.applied).toHaveLength(1); // for the sake of bootstrap
  });

  it.each(['', ' \n'])('keeps the old configuration if the file has become empty: %j', async (text) => {
    const watched = watcher(() => withEnv({ HEADGATE_LOG_LEVEL: 'debug' }));
    watched.save(text);
    watched.timers.shift()!();
    await expect
      .poll(() => watched.reports)
      .toEqual([
        {
          message: 'config rejected',
          problems: ['/etc/headgate.yaml is empty. To use only the defaults, write {} into it.'],
        },
      ]);
    watched.hangUp();
    await expect.poll(() => watched.reports).toHaveLength(2);
    expect(watched.applied).toEqual([]);
    watched.save('{}');
    watched.timers.shift()!();
    await expect.poll(() => watched.reports.at(-1)).toEqual({ message: 'config reloaded', changed: ['log.level'] });
  });

  it('keeps the old configuration if the file is missing', async () => {
    const watched = watcher(() => ({ ...withEnv({ HEADGATE_LOG_LEVEL: 'debug' }), file: undefined }));
    watched.hangUp();
    await expect
      .poll(() => watched.reports.at(-1))
      .toEqual({
        message: 'config rejected',
        problems: ['/etc/headgate.yaml: there is no such file'],
      });
    expect(watched.applied).toEqual([]);
  });

  it('retries a configuration that could not be applied', async () => {
    let fails = true;
    const watched = watcher(
      () => withEnv({ HEADGATE_LOG_LEVEL: 'warn' }),
      async () => {
        if (fails) throw new Error('no');
      },
    );
    watched.hangUp();
    await expect
      .poll(() => watched.reports.at(-1))
      .toEqual({
        message: 'config rejected',
        problems: ['It could not be applied: no'],
      });
    fails = false;
    watched.hangUp();
    await expect.poll(() => watched.reports.at(-1)).toEqual({ message: 'config reloaded', changed: ['log.level'] });
  });
});
