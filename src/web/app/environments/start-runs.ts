import { ApiError } from '../../../contract/errors.ts';
import type { RunInput } from '../../../contract/service/run.ts';
import { service } from '../api.ts';
import { METADATA_PREFIX } from '../runs/run-filters.ts';
import { argumentAt } from './form-values.ts';
import { BATCH, settingOf } from './run-settings.ts';

/** Messages of a form: by argument, by setting, and one for the whole form. */
export interface FormProblems {
  readonly args: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, string>>;
  readonly form: string;
}

export const NO_PROBLEMS: FormProblems = { args: {}, settings: {}, form: '' };

export function hasProblems({ args, settings, form }: FormProblems): boolean {
  return form !== '' || Object.keys(args).length + Object.keys(settings).length > 0;
}

/**
 * Starts equal runs one after the other. Several get a metadata value in common, by which they are found again.
 *
 * @returns the address of the trace or of the list; else the problems, and some runs may have been started.
 */
export async function startRuns(run: RunInput, count: number, argNames: readonly string[]) {
  const batch = count === 1 ? {} : { [BATCH]: crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? '' };
  const input = count === 1 ? run : { ...run, metadata: { ...run.metadata, ...batch } };
  let traceId = '';
  for (let started = 0; started < count; started++) {
    try {
      traceId = (await service.runs.create(input)).trace_id;
    } catch (error) {
      return { problems: toProblems(error, `${started} of ${count}`, started, argNames) };
    }
  }
  return { path: count === 1 ? `/traces/${traceId}` : batchPath(batch) };
}

/** A refusal belongs to the field that it names. */
function toProblems(error: unknown, progress: string, started: number, argNames: readonly string[]): FormProblems {
  const message = error instanceof Error ? error.message : String(error);
  if (started > 0) {
    return { ...NO_PROBLEMS, form: `${progress} runs were started, the next one was not: ${message}` };
  }
  const param = error instanceof ApiError ? error.param : null;
  const setting = settingOf(param ?? '');
  if (setting !== undefined) return { ...NO_PROBLEMS, settings: { [setting]: message } };
  const name = argumentAt(param);
  if (name !== undefined && argNames.includes(name)) return { ...NO_PROBLEMS, args: { [name]: message } };
  return { ...NO_PROBLEMS, form: message };
}

/** The list of the runs that were started together. */
function batchPath(batch: Readonly<Record<string, string>>): string {
  const filters = Object.entries(batch).map(([key, value]) => [`${METADATA_PREFIX}${key}`, value]);
  return `/?${new URLSearchParams(filters)}`;
}
