const factors: Record<string, number> = {
  '': 1,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
};

/** `32MiB`, `64 KiB`, `1048576` → bytes. Undefined if it is not a size. `KiB` is 1024 bytes, `kB` is 1000 bytes. */
export function readByteSize(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text.trim()) ?? [];
  const factor = Object.hasOwn(factors, unit) ? factors[unit] : undefined;
  return digits === '' || factor === undefined ? undefined : Math.round(Number(digits) * factor);
}
