import { ApiError } from '../../../contract/errors.ts';
import { didYouMean } from '../../../support/text/did-you-mean.ts';

/** Indexes of two models in the evaluations a and b. */
export interface ModelPair {
  readonly a: number;
  readonly b: number;
}

interface NamedModels {
  readonly aModel?: string | undefined;
  readonly bModel?: string | undefined;
}

/**
 * The models to compare: the named ones; where only one is named, with that of the same name or the only one there is;
 * else those of equal names, or one with one.
 *
 * @throws ApiError invalid_parameter with `param` a_model or b_model.
 */
export function pairModels(
  aModels: readonly string[],
  bModels: readonly string[],
  { aModel, bModel }: NamedModels,
): readonly ModelPair[] {
  const a = aModel === undefined ? undefined : indexOf(aModel, aModels, 'a');
  const b = bModel === undefined ? undefined : indexOf(bModel, bModels, 'b');
  if (a !== undefined) return [{ a, b: b ?? counterpart(aModels[a] ?? '', bModels, 'b') }];
  if (b !== undefined) return [{ a: counterpart(bModels[b] ?? '', aModels, 'a'), b }];
  const equal = aModels.flatMap((model, index) =>
    bModels.includes(model) ? [{ a: index, b: bModels.indexOf(model) }] : [],
  );
  if (equal.length > 0) return equal;
  if (aModels.length === 1 && bModels.length === 1) return [{ a: 0, b: 0 }];
  throw new ApiError(
    'invalid_parameter',
    `No model is in both evaluations (a has ${listed(aModels)}; b has ${listed(bModels)}): name two with a_model and b_model.`,
    { param: 'a_model' },
  );
}

function indexOf(model: string, models: readonly string[], side: 'a' | 'b'): number {
  const index = models.indexOf(model);
  if (index !== -1) return index;
  const known = `there ${models.length === 1 ? 'is' : 'are'} ${listed(models)}.${didYouMean(model, models)}`;
  throw new ApiError('invalid_parameter', `The evaluation ${side} has no model ${JSON.stringify(model)}; ${known}`, {
    param: `${side}_model`,
  });
}

function counterpart(model: string, models: readonly string[], side: 'a' | 'b'): number {
  if (models.length === 1) return 0;
  const index = models.indexOf(model);
  if (index !== -1) return index;
  const message = `The evaluation ${side} has no model ${JSON.stringify(model)} but several others: name one with ${side}_model; there are ${listed(models)}.`;
  throw new ApiError('invalid_parameter', message, { param: `${side}_model` });
}

/** Models that a message lists. */
const MAX_LISTED = 10;

function listed(models: readonly string[]): string {
  const more = models.length - MAX_LISTED;
  return [...models.slice(0, MAX_LISTED), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
