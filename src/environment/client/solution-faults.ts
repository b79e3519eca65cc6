import type { ReadResourceResult } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { BoundaryError } from '../../contract/errors.ts';
import { jsonOf } from '../mcp-client/reading.ts';

/** The resource that lists the scenarios with a solution. */
export const SOLUTIONS_URI = 'solution://functions';
const functionListSchema = z.object({ functions: z.array(z.object({ name: z.string() })) });

/** False if the list is valid and does not contain this scenario. */
export function mayList(list: ReadResourceResult, scenario: string): boolean {
  const parsed = functionListSchema.safeParse(jsonOf(list));
  return !parsed.success || parsed.data.functions.some(({ name }) => name === scenario);
}

/** An error of the author's function, which is the scenario's fault and not that of the model. */
export function solutionFailed(scenario: string, told: string): BoundaryError {
  return new BoundaryError('setup', 'environment_failed', `The solution of the scenario "${scenario}" failed: ${told}`);
}

export function noSolution(scenario: string, cause: unknown): BoundaryError {
  const message = `The scenario "${scenario}" has no solution for proctor/oracle to play: declare "solution" in its configuration, or run another model`;
  return new BoundaryError('setup', 'environment_failed', message, { cause });
}
