import type { ReadResourceResult } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { BoundaryError } from '../contract/errors.ts';
import { jsonOf } from '../mcp-client/reading.ts';

/** Lists the scenarios that have a solution. */
export const SOLUTIONS_URI = 'solution://functions';
const functionListSchema = z.object({ functions: z.array(z.object({ name: z.string() })) });

/** False where the list of the hub's functions is one, and does not have this scenario. */
export function mayList(list: ReadResourceResult, scenario: string): boolean {
  const parsed = functionListSchema.safeParse(jsonOf(list));
  return !parsed.success || parsed.data.functions.some(({ name }) => name === scenario);
}

/** An error of the author's function: a fault of the scenario, not of the model that plays it. */
export function solutionFailed(scenario: string, told: string): BoundaryError {
  return new BoundaryError('setup', 'environment_failed', `The solution of the scenario "${scenario}" failed: ${told}`);
}

export function noSolution(scenario: string, cause: unknown): BoundaryError {
  const message = `The scenario "${scenario}" has no solution for proctor/oracle to play: declare "solution" in its configuration, or run another model`;
  return new BoundaryError('setup', 'environment_failed', message, { cause });
}
