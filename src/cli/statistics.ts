/** Mean and sample standard deviation; null where there are too few values. */
export function summarize(values: readonly number[]): {
  readonly mean: number | null;
  readonly deviation: number | null;
} {
  if (values.length === 0) return { mean: null, deviation: null };
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length === 1) return { mean, deviation: null };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, deviation: Math.sqrt(variance) };
}
