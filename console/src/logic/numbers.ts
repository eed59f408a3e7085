const whole = new Intl.NumberFormat('en-US');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export const formatCount = (value: number): string => whole.format(value);

/** Writes a large number for a small place: `12.3K`. */
export const shortCount = (value: number): string => (value < 10_000 ? whole.format(value) : compact.format(value));

/** Writes milliseconds in the unit that a person would use: `480 ms`, `2.41 s`, `1 min 12 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** Writes a share: `3.2%`. A share that is not zero never looks like zero. */
export function formatShare(part: number, total: number): string {
  if (total === 0) return '–';
  const percent = (part / total) * 100;
  if (percent > 0 && percent < 0.1) return '<0.1%';
  if (percent > 99.9 && percent < 100) return '>99.9%';
  return `${percent.toFixed(percent >= 10 || percent === 0 ? 0 : 1)}%`;
}

/** Writes a change against an earlier value: `+12%`. Undefined: there is nothing to compare with. */
export function formatChange(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  if (now / before >= 10) return `×${whole.format(Math.round(now / before))}`;
  const percent = Math.round((now / before - 1) * 100);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${whole.format(Math.abs(percent))}%`;
}
