import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../contract/errors.ts';
import { MAX_STEPS } from '../../../contract/names.ts';
import type { EventOf } from '../../../contract/service/event.ts';
import type { Fork } from '../../../contract/service/replay.ts';
import { type RunBody, type RunRequest, runRequestSchema } from '../../../contract/service/run.ts';
import { EXTERNAL_MODEL } from '../../../contract/service/seat.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import { assertEnded, isPlayedByAgent } from '../recorded-runs.ts';

/** A trace that a fork continues. */
export interface ForkedTrace {
  readonly trace: Trace;
  /** Its request. */
  readonly asked: Pick<EventOf<'run.queued'>, 'user_model' | 'judge_model' | 'user_script'>;
}

/** A request with the lines of its task's user, which a request body cannot have. */
export type ForkedRequest = RunRequest & Pick<EventOf<'run.queued'>, 'user_script'>;

/**
 * Makes the run that continues a trace after one of its steps. Fields that the body leaves out are copied from the
 * trace.
 *
 * @throws ApiError run_running; invalid_parameter for another environment, scenario or arguments, for a step after which no
 *   model can go on, and for steps that leave none to it; missing_required_parameter where the trace has no model.
 */
export function toForkedRequest(
  { fork: _fork, ...body }: RunBody,
  fork: Fork,
  { trace: parent, asked }: ForkedTrace,
): ForkedRequest {
  assertEnded(parent);
  checkSame(body, parent);
  checkStep(fork, parent);
  checkModel(body, parent);
  const request = runRequestSchema.parse({
    ...body,
    env_name: parent.env_name,
    scenario_name: parent.scenario_name,
    scenario_args: parent.scenario_args,
    model: body.model ?? parent.model,
    max_steps: body.max_steps ?? maxStepsOf(parent, fork),
    seed: body.seed ?? parent.seed,
    user_model: body.user_model ?? asked.user_model,
    judge_model: body.judge_model ?? asked.judge_model,
  });
  const { user_script } = asked;
  if (request.max_steps > fork.after_step) return { ...request, ...(user_script === undefined ? {} : { user_script }) };
  throw new ApiError(
    'invalid_parameter',
    `max_steps has to be more than the ${fork.after_step} steps that are repeated, got ${request.max_steps}.`,
    { param: 'max_steps' },
  );
}

/** That of a chat is for each of its turns. One that used up its steps gets as many once more. */
function maxStepsOf({ origin, max_steps, steps }: Trace, { after_step }: Fork): number {
  const isUsedUp = steps.length >= max_steps && after_step >= max_steps;
  return origin === 'chat' || isUsedUp ? Math.min(MAX_STEPS.maximum, max_steps + after_step) : max_steps;
}

function checkSame(body: Omit<RunBody, 'fork'>, parent: Trace): void {
  const scenario = body.scenario_name?.replace(`${parent.env_name}:`, '');
  const given = { env_name: body.env_name, scenario_name: scenario, scenario_args: body.scenario_args };
  for (const [param, value] of Object.entries(given)) {
    const known = parent[param as keyof typeof given]; // The names are those above.
    if (value === undefined || isDeepStrictEqual(value, known)) continue;
    throw new ApiError(
      'invalid_parameter',
      `${param} of a fork is that of its trace, ${JSON.stringify(known).slice(0, 500)}: leave it out.`,
      { param },
    );
  }
}

/** Checks that the model can be asked. An agent's own model cannot. */
function checkModel({ model }: Pick<RunBody, 'model'>, parent: Trace): void {
  if ((model ?? parent.model) !== EXTERNAL_MODEL) return;
  throw new ApiError(
    'missing_required_parameter',
    `The agent of trace ${parent.trace_id} had a model of its own: name the model that goes on.`,
    { param: 'model' },
  );
}

function checkStep({ after_step: afterStep }: Fork, trace: Trace): void {
  const { trace_id, turns, steps } = trace;
  const refuse = (why: string) =>
    new ApiError(
      'invalid_parameter',
      `fork.after_step ${afterStep} is not a step of trace ${trace_id} to fork at: ${why}.`,
      {
        param: 'fork.after_step',
      },
    );
  if (turns.length === 0) throw refuse('it was never set up, so that there is nothing to go on with');
  if (afterStep === 0) return;
  if (isPlayedByAgent(trace))
    throw refuse(
      'an agent with a loop of its own has played it, and such a run can only be forked at its start: use 0',
    );
  const possible = steps.filter(({ tool_results }) => tool_results.length > 0).map(({ step }) => step);
  if (possible.includes(afterStep)) return;
  const answer = steps.some(({ step }) => step === afterStep) ? 'that step is an answer. ' : '';
  throw refuse(`${answer}${possible.length === 0 ? 'Only 0 is possible' : `Possible: 0 and ${inRanges(possible)}`}`);
}

/** 1 to 4, 6 */
function inRanges(numbers: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first} to ${last}`)).join(', ');
}
