/** A label and a score of one case, both from 0 to 1. */
export interface RatedCase {
  readonly label: number;
  readonly score: number;
}

export interface Agreement {
  /** Share of the cases on which both are on the same side of 0.5. */
  readonly agreement: number;
  /** Cohen's kappa: agreement beyond chance, at most 1. Null if chance alone always agrees. */
  readonly kappa: number | null;
  /** 95 % interval; null if `kappa` is null. */
  readonly kappaCi95: readonly [number, number] | null;
  readonly confusion: {
    readonly bothYes: number;
    readonly bothNo: number;
    readonly labelYesOnly: number;
    readonly scoreYesOnly: number;
  };
}

const THRESHOLD = 0.5;
const Z95 = 1.96;

/**
 * Agreement of a judge with labels.
 *
 * @param isGraded true for labels that are numbers: kappa is weighted by the square of the distance. False for yes and no.
 * @throws RangeError without a case.
 */
export function agreementOf(cases: readonly RatedCase[], isGraded: boolean): Agreement {
  if (cases.length === 0) throw new RangeError('Agreement needs one case or more');
  const count = (label: boolean, score: boolean) =>
    cases.filter((each) => isYes(each.label) === label && isYes(each.score) === score).length;
  const confusion = {
    bothYes: count(true, true),
    bothNo: count(false, false),
    labelYesOnly: count(true, false),
    scoreYesOnly: count(false, true),
  };
  const agreement = (confusion.bothYes + confusion.bothNo) / cases.length;
  const { observed, expected } = isGraded ? weighted(cases) : unweighted(cases, agreement);
  if (expected >= 1) return { agreement, kappa: null, kappaCi95: null, confusion };
  const kappa = (observed - expected) / (1 - expected);
  const half = Z95 * Math.sqrt((observed * (1 - observed)) / (cases.length * (1 - expected) ** 2));
  return { agreement, kappa, kappaCi95: [kappa - half, kappa + half], confusion };
}

interface Chance {
  readonly observed: number;
  readonly expected: number;
}

function unweighted(cases: readonly RatedCase[], observed: number): Chance {
  const labelled = cases.filter(({ label }) => isYes(label)).length / cases.length;
  const scored = cases.filter(({ score }) => isYes(score)).length / cases.length;
  return { observed, expected: labelled * scored + (1 - labelled) * (1 - scored) };
}

/** Weighted agreement: each pair of label and score agrees by 1 minus the square of their distance. */
function weighted(cases: readonly RatedCase[]): Chance {
  const observed = 1 - meanOf(cases.map(({ label, score }) => (label - score) ** 2));
  const [labels, scores] = [cases.map(({ label }) => label), cases.map(({ score }) => score)];
  // The mean over all pairs in closed form, because there may be billions of pairs.
  const apart = varianceOf(labels) + varianceOf(scores) + (meanOf(labels) - meanOf(scores)) ** 2;
  return { observed, expected: 1 - apart };
}

function varianceOf(values: readonly number[]): number {
  const mean = meanOf(values);
  return meanOf(values.map((value) => (value - mean) ** 2));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function isYes(value: number): boolean {
  return value >= THRESHOLD;
}
