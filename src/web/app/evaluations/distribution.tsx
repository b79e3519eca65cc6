import { grouped } from '../../../support/text/figures.ts';
import type { ModelCells } from '../../evaluations/evaluation-data.ts';

const BAR = { width: 13, gap: 2, height: 44 } as const;
/** Those of `store/traces/rows/reward-bins`. */
const NAMES = [
  'below 0',
  '0',
  ...Array.from({ length: 10 }, (_, tenth) => `over ${tenth / 10} up to ${(tenth + 1) / 10}`),
  '1',
  'above 1',
];
const [BELOW, ZERO, ONE, ABOVE] = [0, 1, 12, 13];

/** The rewards of each model: 0 and 1 apart, tenths between them. All have one scale. */
export function Distribution({ models }: { readonly models: readonly ModelCells[] }) {
  const most = Math.max(1, ...models.flatMap(({ bins }) => bins));
  const shown = NAMES.map((_, bin) => bin).filter(
    (bin) => (bin !== BELOW && bin !== ABOVE) || models.some(({ bins }) => (bins[bin] ?? 0) > 0),
  );
  return (
    <ul class="distributions">
      {models.map(({ model, bins }) => (
        <li key={model}>
          <h4>{model}</h4>
          <Bars bins={bins} shown={shown} most={most} />
        </li>
      ))}
    </ul>
  );
}

function Bars({
  bins,
  shown,
  most,
}: {
  readonly bins: readonly number[];
  readonly shown: readonly number[];
  readonly most: number;
}) {
  const width = shown.length * (BAR.width + BAR.gap);
  const told = shown.filter((bin) => (bins[bin] ?? 0) > 0).map((bin) => `${NAMES[bin]}: ${grouped(bins[bin] ?? 0)}`);
  const title = told.length === 0 ? 'No rewards yet' : `Attempts by reward. ${told.join(', ')}`;
  const middleOf = (bin: number) => shown.indexOf(bin) * (BAR.width + BAR.gap) + BAR.width / 2;
  return (
    <svg
      class="distribution"
      viewBox={`0 0 ${width} ${BAR.height + 16}`}
      width={width}
      height={BAR.height + 16}
      role="img"
    >
      <title>{title}</title>
      {shown.map((bin, place) => {
        const count = bins[bin] ?? 0;
        const height = count === 0 ? 1 : Math.max(2, (count / most) * BAR.height);
        return (
          <rect
            key={bin}
            class={toneOfBin(bin)}
            x={place * (BAR.width + BAR.gap)}
            y={BAR.height - height}
            width={BAR.width}
            height={height}
          />
        );
      })}
      <text x={middleOf(ZERO)} y={BAR.height + 13} text-anchor="middle">
        0
      </text>
      <text x={middleOf(ONE)} y={BAR.height + 13} text-anchor="middle">
        1
      </text>
    </svg>
  );
}

function toneOfBin(bin: number): string {
  if (bin <= ZERO) return 'zero';
  return bin >= ONE ? 'full' : 'part';
}
