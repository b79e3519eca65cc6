import { useState } from 'preact/hooks';
import type { TrainingEvent } from '../../../contract/service/training.ts';

const SIZE = { width: 640, height: 180, edge: 8 } as const;

interface Point {
  readonly step: number;
  readonly value: number;
}

/** One metric over the steps of training. */
export function MetricsCurve({ events }: { readonly events: readonly TrainingEvent[] }) {
  const curves = toCurves(events);
  const names = [...curves.keys()].sort();
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const name =
    chosen !== undefined && curves.has(chosen) ? chosen : (names.find((each) => /loss/.test(each)) ?? names[0]);
  const points = name === undefined ? [] : (curves.get(name) ?? []);
  const last = points.at(-1);
  if (name === undefined || last === undefined) return null;
  const values = points.map(({ value }) => value);
  return (
    <section>
      <h2>Curve</h2>
      <label>
        <span class="visually-hidden">Metric</span>
        <select value={name} onChange={(event) => setChosen(event.currentTarget.value)}>
          {names.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <svg
        class="training-curve"
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        role="img"
        aria-label={`${name}: ${last.value.toPrecision(4)} at step ${last.step}, from ${Math.min(...values).toPrecision(4)} to ${Math.max(...values).toPrecision(4)}`}
      >
        <polyline points={toPolyline(points)} fill="none" stroke="currentColor" stroke-width="1.5" />
      </svg>
      <p class="quiet">{`${last.value.toPrecision(4)} at step ${last.step}`}</p>
    </section>
  );
}

function toCurves(events: readonly TrainingEvent[]): ReadonlyMap<string, readonly Point[]> {
  const curves = new Map<string, Point[]>();
  for (const event of events) {
    if (event.type !== 'metrics') continue;
    for (const [name, value] of Object.entries(event.metrics)) {
      const points = curves.get(name) ?? [];
      points.push({ step: event.step, value });
      curves.set(name, points);
    }
  }
  return curves;
}

function toPolyline(points: readonly Point[]): string {
  const { width, height, edge } = SIZE;
  const [steps, values] = [points.map(({ step }) => step), points.map(({ value }) => value)];
  const scale = (list: readonly number[], length: number) => {
    const least = Math.min(...list);
    const span = Math.max(...list) - least || 1;
    return (value: number) => edge + ((value - least) / span) * (length - 2 * edge);
  };
  const [x, y] = [scale(steps, width), scale(values, height)];
  return points.map(({ step, value }) => `${x(step).toFixed(1)},${(height - y(value)).toFixed(1)}`).join(' ');
}
