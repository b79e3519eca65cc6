import { z } from 'zod';

const nameSchema = z.string().min(1).max(200);

/** The query of `POST /v1/imports`. */
export const importQuerySchema = z.object({
  /** The environment of the traces. Default: as the file says. */
  env_name: nameSchema.optional(),
  /** Their scenario. Default: as the file says. */
  scenario_name: nameSchema.optional(),
  /** The scorer whose value is the reward. Default: the first. */
  score: nameSchema.optional(),
  /** The environment and the model that `metadata.json` beside the `results.jsonl` of verifiers names. */
  metadata_env: nameSchema.optional(),
  metadata_model: nameSchema.optional(),
});
export type ImportQuery = z.infer<typeof importQuerySchema>;

/** Bytes of a file that a service takes. Larger ones are imported at its machine. */
export const MAX_IMPORT_BYTES = 64 * 1_024 * 1_024;

/** A field that a format could not hold. */
export interface Loss {
  /** Path in the trace (or, of an import, in the file): names joined by dots, `[]` for the items of a list. */
  readonly field: string;
  /** In how many places. */
  readonly count: number;
  readonly why: string;
}

/** The one event of the answer of `POST /v1/imports`. */
export interface ImportedTraces {
  readonly type: 'imported';
  /** All traces of the file, those that were there among them. */
  readonly trace_ids: readonly string[];
  /** How many are new. */
  readonly added: number;
  readonly lost: readonly Loss[];
}
