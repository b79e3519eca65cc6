import { z } from 'zod';
import { timeSchema } from './trace.ts';

export const CHECK_ID_PATTERN = /^check_[0-9a-f]{32}$/;

/** Findings of `proctor check`, in the order in which reports have them. */
export const findingNameSchema = z.enum([
  'start',
  'solvable',
  'idle',
  'random',
  'echo',
  'leak',
  'forger',
  'deterministic',
  'isolated',
  'order',
  'clean',
  'grader_strength',
  'described',
  'bounded',
]);
export type FindingName = z.infer<typeof findingNameSchema>;

export const findingLevelSchema = z.enum(['error', 'warning', 'note']);
export type FindingLevel = z.infer<typeof findingLevelSchema>;

/** How many findings there are of each level. */
export const findingCountsSchema = z.object({ error: z.int(), warning: z.int(), note: z.int() });
export type FindingCounts = z.infer<typeof findingCountsSchema>;

export const checkFindingSchema = z.object({
  finding: findingNameSchema,
  level: findingLevelSchema,
  /** Null where it is about the environment as a whole. */
  scenario: z.string().nullable(),
  /** The id of the task; null where it is about no single one. */
  task: z.string().nullable(),
  /** One or more sentences. */
  message: z.string(),
  /** A command that shows it again. */
  reproduce: z.string(),
  /** Its trace, where one was written. */
  trace_id: z.string().nullable(),
});
export type CheckFinding = z.infer<typeof checkFindingSchema>;

export const checkedEnvironmentSchema = z.object({
  name: z.string(),
  /** Whether sessions can share a process; null where that could not be tried. */
  may_share_process: z.boolean().nullable(),
  scenarios: z.array(
    z.object({
      name: z.string(),
      /** How many tasks of it were tried. */
      tasks: z.int(),
    }),
  ),
  findings: z.array(checkFindingSchema),
});
export type CheckedEnvironment = z.infer<typeof checkedEnvironmentSchema>;

/** The report of `proctor check --json`. */
export const checkReportSchema = z.object({
  object: z.literal('check'),
  environments: z.array(checkedEnvironmentSchema),
  counts: findingCountsSchema,
});
export type CheckReport = z.infer<typeof checkReportSchema>;

const storedShape = { check_id: z.string(), check_url: z.string(), created_at: timeSchema };

/** Answer of `GET /v1/checks/{check_id}`: the report, with as many findings as a page has. */
export const storedCheckSchema = checkReportSchema.extend({
  ...storedShape,
  /** `findings` are those of this page; `counts` are of all. */
  environments: z.array(checkedEnvironmentSchema.extend({ counts: findingCountsSchema })),
  /** For the findings that follow. */
  next_cursor: z.string().nullable(),
});
export type StoredCheck = z.infer<typeof storedCheckSchema>;

/** An entry of `GET /v1/checks`: a report without scenarios and findings. */
export const checkSummarySchema = checkReportSchema.extend({
  ...storedShape,
  environments: z.array(
    checkedEnvironmentSchema.omit({ scenarios: true, findings: true }).extend({ counts: findingCountsSchema }),
  ),
});
export type CheckSummary = z.infer<typeof checkSummarySchema>;

export const checkListSchema = z.object({
  object: z.literal('list'),
  data: z.array(checkSummarySchema),
  next_cursor: z.string().nullable(),
});
export type CheckList = z.infer<typeof checkListSchema>;
