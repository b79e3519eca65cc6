import type { ReadResourceResult } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { BoundaryError } from '../../contract/errors.ts';
import { jsonOf } from '../mcp-client/reading.ts';
import { isUnknownName } from './client-failure.ts';

/** The resource that lists the scenarios with a solution. */
export const SOLUTIONS_URI = 'solution://functions';
const functionListSchema = z.object({ functions: z.array(z.object({ name: z.string() })) });

/**
 * False if the server has no hub `solution`, or does not list the scenario among the functions of that hub.
 *
 * @param hides is true for a server that hides the hub from a client without its key.
 */
export async function mayHaveSolution(
  read: () => Promise<ReadResourceResult>,
  scenario: string,
  hides: boolean,
): Promise<boolean> {
  try {
    return mayList(await read(), scenario);
  } catch (error) {
    return hides || !isUnknownName(error);
  }
}

/** False if the list is valid and does not contain this scenario. */
function mayList(list: ReadResourceResult, scenario: string): boolean {
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
