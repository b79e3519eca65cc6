import { z } from 'zod';

/** The body of every error reply of an HTTP surface; all four keys are present. */
export const errorBodySchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});
export type ErrorBody = z.infer<typeof errorBodySchema>;

/** The boundary at which a run failed (contract section 3, "A run"). */
export const boundarySchema = z.enum(['environment', 'setup', 'model', 'tool', 'evaluate', 'worker', 'agent']);
export type Boundary = z.infer<typeof boundarySchema>;

/** `error` of a failed trace. `code` is one of the codes in `errors.ts`, or the code of the side that failed. */
export const runErrorSchema = z.object({
  boundary: boundarySchema,
  code: z.string(),
  message: z.string(),
  /** HTTP status of the gateway's answer; absent when the gateway did not answer. */
  status: z.int().optional(),
});
export type RunErrorBody = z.infer<typeof runErrorSchema>;
