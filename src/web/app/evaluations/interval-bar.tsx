import { Fragment } from 'preact';

type Interval = readonly [number, number] | null;

/** The range that bars of one list share. */
export interface Domain {
  readonly low: number;
  readonly high: number;
}

/** A range with some room that holds these values, and `always` among them. */
export function toDomain(values: readonly (number | null | undefined)[], always: readonly number[]): Domain {
  const known = [...values, ...always].filter((value): value is number => typeof value === 'number');
  const low = Math.min(...known);
  const high = Math.max(...known);
  const room = (high - low) * 0.04 || 0.5;
  return { low: low - room, high: high + room };
}

/** A value with its interval on a line. An end beyond the range has no mark. The text beside it says the same. */
export function IntervalBar({
  value,
  interval,
  domain: { low, high },
  marks,
  tone = 'plain',
  isNamed = false,
}: {
  readonly value: number | null;
  readonly interval: Interval;
  readonly domain: Domain;
  /** Values with a line of their own: the ends of the scale, or the 0 of a difference. */
  readonly marks: readonly number[];
  readonly tone?: 'plain' | 'good' | 'bad';
  /** The marks have their numbers below. */
  readonly isNamed?: boolean;
}) {
  const at = (number: number) => `${Math.min(100, Math.max(0, ((number - low) / (high - low)) * 100)).toFixed(2)}%`;
  const isInside = (number: number) => number >= low && number <= high;
  return (
    <svg class={`interval ${tone}`} height={isNamed ? 36 : 22} width="100%" aria-hidden="true">
      {marks.map((mark) => (
        <Fragment key={mark}>
          <line class="interval-mark" x1={at(mark)} x2={at(mark)} y1="0" y2="22" />
          {isNamed ? (
            <text x={at(mark)} y="34" text-anchor="middle">
              {mark}
            </text>
          ) : null}
        </Fragment>
      ))}
      {interval === null ? null : (
        <>
          <line class="interval-line" x1={at(interval[0])} x2={at(interval[1])} y1="11" y2="11" />
          {interval.filter(isInside).map((end, index) => (
            <line key={index} class="interval-end" x1={at(end)} x2={at(end)} y1="6" y2="16" />
          ))}
        </>
      )}
      {value === null ? null : <circle cx={at(value)} cy="11" r="4.5" />}
    </svg>
  );
}
