import { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
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
  'secrets',
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

/**
 * The result of one kind of finding. `tried`: the check looked and found nothing. `found`: the check found an error or
 * a warning. `partly_tried`: the check looked in some places only. `not_tried`: the check did not look. Notes with
 * `untried` give the reasons.
 */
export const findingStateSchema = z.enum(['tried', 'found', 'partly_tried', 'not_tried']);
export type FindingState = z.infer<typeof findingStateSchema>;

export const checkFindingSchema = z.object({
  finding: findingNameSchema,
  level: findingLevelSchema,
  /** Null when the finding is about the whole environment. */
  scenario: z.string().nullable(),
  /** The id of the task; null when the finding is not about a single task. */
  task: z.string().nullable(),
  /** One or more sentences. */
  message: z.string(),
  /** A command that reproduces the finding. */
  reproduce: z.string(),
  /** The trace of the finding; null when none was written. */
  trace_id: z.string().nullable(),
  /** True for a note that says why the check did not look, or stopped early. */
  untried: z.boolean(),
});
export type CheckFinding = z.infer<typeof checkFindingSchema>;

export const checkedEnvironmentSchema = z.object({
  name: z.string(),
  /** Whether sessions can share a process; null when that could not be tried. */
  may_share_process: z.boolean().nullable(),
  scenarios: z.array(
    z.object({
      name: z.string(),
      /** Number of tasks that were tried. */
      tasks: z.int(),
    }),
  ),
  /** The state of every kind of finding, in report order. Empty in reports of older versions. */
  tried: z.array(z.object({ finding: findingNameSchema, state: findingStateSchema })),
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

/** Largest values of a check's request. */
export const CHECK_LIMITS = {
  environments: 100,
  tasks: 10_000,
  timeoutSeconds: 3_600,
  maxTimeSeconds: 86_400,
} as const;

/** Body of `POST /v1/checks`. */
export const checkRequestSchema = z.object({
  /** Names of environments of the service, which are checked one after the other. */
  environments: z.array(z.string().min(1)).min(1).max(CHECK_LIMITS.environments),
  /** The only scenario to check. */
  scenario: z.string().min(1).optional(),
  /** The only task to check. */
  task: z.string().min(1).optional(),
  /** Most tasks of each scenario. Default 5. */
  tasks: z.int().min(1).max(CHECK_LIMITS.tasks).optional(),
  /** Picks the tasks, and seeds environments and agents. Default 0. */
  seed: z.int().min(0).optional(),
  /** Least reward that passes. Default 1. */
  pass_threshold: z.number().optional(),
  /** Seconds for the start of a session, its setup, each call and its evaluation. Default 30. */
  timeout_seconds: z.int().min(1).max(CHECK_LIMITS.timeoutSeconds).optional(),
  /** Seconds for each environment. Tries that have not begun by then are listed as not tried. Default 300. */
  max_time_seconds: z.int().min(1).max(CHECK_LIMITS.maxTimeSeconds).optional(),
});
export type CheckRequest = z.infer<typeof checkRequestSchema>;

/** Progress of the check of one environment. */
export interface CheckProgress {
  readonly environment: string;
  /** Sessions that were played. */
  readonly sessions: number;
  /** Milliseconds since its check began, and the most that it may take. */
  readonly elapsed_ms: number;
  readonly max_ms: number;
  /** The task of the last session, such as `count_to/three`. */
  readonly task: string;
}

/** An event in the answer of `POST /v1/checks`. The last event is `report`. */
export type CheckEvent =
  | ({ readonly type: 'progress' } & CheckProgress)
  /** Findings come when the check of their environment is complete. */
  | { readonly type: 'finding'; readonly environment: string; readonly finding: CheckFinding }
  | {
      readonly type: 'report';
      readonly report: CheckReport;
      /** Id and page of the stored report; null when it could not be stored. */
      readonly check_id: string | null;
      readonly check_url: string | null;
      /** Errors of storing the report and the traces of its findings. The report itself is complete. */
      readonly unstored: readonly { readonly code: ErrorCode; readonly message: string }[];
    };

const storedShape = { check_id: z.string(), check_url: z.string(), created_at: timeSchema };

/** Answer of `GET /v1/checks/{check_id}`: the report with one page of findings. */
export const storedCheckSchema = checkReportSchema.extend({
  ...storedShape,
  /** `findings` holds this page only; `counts` covers all pages. */
  environments: z.array(checkedEnvironmentSchema.extend({ counts: findingCountsSchema })),
  /** Cursor of the next page of findings. */
  next_cursor: z.string().nullable(),
});
export type StoredCheck = z.infer<typeof storedCheckSchema>;

/** An entry of `GET /v1/checks`: a report without scenarios and findings. */
export const checkSummarySchema = checkReportSchema.extend({
  ...storedShape,
  environments: z.array(
    checkedEnvironmentSchema
      .omit({ scenarios: true, tried: true, findings: true })
      .extend({ counts: findingCountsSchema }),
  ),
});
export type CheckSummary = z.infer<typeof checkSummarySchema>;

export const checkListSchema = z.object({
  object: z.literal('list'),
  data: z.array(checkSummarySchema),
  next_cursor: z.string().nullable(),
});
export type CheckList = z.infer<typeof checkListSchema>;
