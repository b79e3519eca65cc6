import type { DatasetSelect } from '../../contract/service/dataset.ts';
import { byTime, type ChosenLine } from './candidate.ts';
import { shareOf } from './choose.ts';

export interface SplitLines {
  readonly train: readonly ChosenLine[];
  readonly validation: readonly ChosenLine[];
}

/**
 * Splits lines by task, so that all lines of a task are on one side. With the same seed a task is on the same side in
 * every dataset. If all tasks would be for validation, none is.
 */
export function splitLines(
  lines: readonly ChosenLine[],
  { seed, validation }: Pick<DatasetSelect, 'seed' | 'validation'>,
): SplitLines {
  const ordered = lines.toSorted(byTime);
  const isValidation = ({ trace }: ChosenLine) => shareOf(seed, trace.taskKey) < validation;
  const train = ordered.filter((line) => !isValidation(line));
  if (train.length === 0) return { train: ordered, validation: [] };
  return { train, validation: ordered.filter(isValidation) };
}
