import { readFileSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { findChanges } from './changes.ts';
import { ConfigError } from './config-error.ts';
import type { LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';

/** The files, timers and signals of the watcher. Tests replace them. */
export interface WatchEnvironment {
  /** Calls back with the name of each changed file in the folder. @returns a function that stops it */
  watchFolder(folder: string, onChange: (name: string | undefined) => void): () => void;
  /** @returns the text, or undefined if the file cannot be read now */
  readText(file: string): string | undefined;
  /** @returns a function that cancels it */
  startTimer(onEnd: () => void, ms: number): () => void;
  /** Calls back at each SIGHUP. @returns a function that stops it */
  onHangUp(reload: () => void): () => void;
}

/** The result of a reload. */
export type ConfigReport =
  | { message: 'config reloaded' | 'config restart required'; changed: readonly string[] }
  | { message: 'config warning'; detail: string }
  | { message: 'config rejected'; problems: readonly string[] };

export interface WatchOptions {
  running: LoadedConfig;
  /** Loads the configuration as at the start. */
  load(): LoadedConfig;
  /** Applies it to the gateway. Settings that need a restart have their old values. */
  apply(config: Config): Promise<void>;
  report(report: ConfigReport): void;
  environment?: WatchEnvironment;
}

/** Editors save in several steps, and scripts write line by line, so the watcher waits for the last change. */
const settleMs = 100;

/**
 * Reloads on SIGHUP and after the file has changed. An invalid file changes nothing and is reported.
 *
 * @returns a function that stops watching and resolves when a reload in progress has ended
 */
export function watchConfig({
  running,
  load,
  apply,
  report,
  environment = realEnvironment,
}: WatchOptions): () => Promise<void> {
  const { file } = running;
  let config = running.config;
  let text = file === undefined ? undefined : environment.readText(file);
  /** The text of the configuration in use. */
  let used = text;
  let cancelTimer: (() => void) | undefined;
  let work = Promise.resolve();
  let isStopped = false;

  function reload(): void {
    work = work.then(async () => {
      if (isStopped) return;
      try {
        const next = file === undefined ? undefined : environment.readText(file);
        // an interrupted save, for example on a full disk, must not remove all providers
        if (next?.trim() === '' && used?.trim() !== '') {
          throw new ConfigError([`${file} is empty. To use only the defaults, write {} into it.`]);
        }
        const loaded = load();
        if (file !== undefined && loaded.file !== file) throw new ConfigError([`${file}: there is no such file`]);
        for (const detail of loaded.warnings) report({ message: 'config warning', detail });
        const changes = findChanges(config, loaded.config);
        await apply(changes.config); // even without changes, because the store may differ from `bootstrap` by now
        config = changes.config;
        used = next;
        const { live, restart } = changes;
        if (live.length > 0 || restart.length === 0) report({ message: 'config reloaded', changed: live });
        if (restart.length > 0) report({ message: 'config restart required', changed: restart });
      } catch (error) {
        const problems =
          error instanceof ConfigError
            ? error.problems
            : [`It could not be applied: ${error instanceof Error ? error.message : String(error)}`];
        report({ message: 'config rejected', problems });
      }
    });
  }
  function look(): void {
    cancelTimer = undefined;
    if (file === undefined) return;
    const now = environment.readText(file);
    if (now === undefined || now === text) return;
    text = now;
    reload();
  }

  const stops = [environment.onHangUp(reload)];
  if (file !== undefined) {
    const stopFolder = environment.watchFolder(dirname(file), (name) => {
      // Kubernetes replaces a link named "..data" when a mounted file changes
      const isOurs = name === undefined || name === basename(file) || name.startsWith('..');
      if (!isOurs) return;
      cancelTimer?.();
      cancelTimer = environment.startTimer(look, settleMs);
    });
    stops.push(stopFolder);
  }
  return async () => {
    isStopped = true;
    cancelTimer?.();
    for (const stop of stops) stop();
    await work;
  };
}

const realEnvironment: WatchEnvironment = {
  watchFolder(folder, onChange) {
    const watcher = watch(folder, { persistent: false }, (_, name) => onChange(name ?? undefined));
    watcher.on('error', () => watcher.close()); // the folder was deleted; SIGHUP still works
    return () => watcher.close();
  },
  readText(file) {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return undefined;
    }
  },
  startTimer(onEnd, ms) {
    const timer = setTimeout(onEnd, ms).unref();
    return () => clearTimeout(timer);
  },
  onHangUp(reload) {
    process.on('SIGHUP', reload);
    return () => process.off('SIGHUP', reload);
  },
};
