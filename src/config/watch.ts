import { readFileSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { findChanges } from './changes.ts';
import { ConfigError, type LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';

/** The files, timers and signals that the watcher uses. Tests replace it. */
export interface WatchEnvironment {
  /** Calls back with the name of each file that changed in the folder. @returns stops it */
  watchFolder(folder: string, onChange: (name: string | undefined) => void): () => void;
  /** @returns the text, or undefined when it cannot be read at this moment */
  readText(file: string): string | undefined;
  /** @returns cancels it */
  startTimer(onEnd: () => void, ms: number): () => void;
  /** Calls back at each SIGHUP. @returns stops it */
  onHangUp(reload: () => void): () => void;
}

/** What a reload did. */
export type ConfigReport =
  | { message: 'config reloaded' | 'config restart required'; changed: readonly string[] }
  | { message: 'config warning'; detail: string }
  | { message: 'config rejected'; problems: readonly string[] };

export interface WatchOptions {
  running: LoadedConfig;
  /** Reads everything again, as at the start. */
  load(): LoadedConfig;
  /** Makes the gateway use it. What needs a restart has its old value in it. */
  apply(config: Config): Promise<void>;
  report(report: ConfigReport): void;
  environment?: WatchEnvironment;
}

/** Editors save in two or three steps, scripts line by line: wait until nothing comes any more. */
const settleMs = 100;

/**
 * Reloads on SIGHUP, and when the file is saved with another text. A bad file changes nothing and is reported.
 *
 * @returns stops watching; resolves when a reload under way is done
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
  /** That of the configuration in use. */
  let used = text;
  let cancelTimer: (() => void) | undefined;
  let work = Promise.resolve();
  let isStopped = false;

  function reload(): void {
    work = work.then(async () => {
      if (isStopped) return;
      try {
        const next = file === undefined ? undefined : environment.readText(file);
        // A save that broke off, on a full disk for instance, must not take all providers away.
        if (next?.trim() === '' && used?.trim() !== '') {
          throw new ConfigError([`${file} is empty. To go on with the defaults alone, write {} into it.`]);
        }
        const loaded = load();
        if (file !== undefined && loaded.file !== file) throw new ConfigError([`${file}: there is no such file`]);
        for (const detail of loaded.warnings) report({ message: 'config warning', detail });
        const changes = findChanges(config, loaded.config);
        await apply(changes.config); // also when nothing is new: what bootstrap says may be otherwise in the store by now
        config = changes.config;
        used = next;
        const { live, restart } = changes;
        if (live.length > 0 || restart.length === 0) report({ message: 'config reloaded', changed: live });
        if (restart.length > 0) report({ message: 'config restart required', changed: restart });
      } catch (error) {
        const problems = error instanceof ConfigError ? error.problems : [`It could not be applied: ${String(error)}`];
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
      // Kubernetes swaps a link named "..data" when a mounted file changes.
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
    watcher.on('error', () => watcher.close()); // the folder is gone; SIGHUP still works
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
