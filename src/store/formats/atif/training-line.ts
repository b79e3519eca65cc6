import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { Step, Trace } from '../../../contract/service/trace.ts';
import { type ConversationOptions, hasFailedCall } from '../conversation.ts';
import { EXTENSION, withoutUndefined } from '../extension.ts';
import type { LineFormat } from '../format.ts';
import { isMain } from '../is-main.ts';
import { atifFormat } from './write.ts';

/**
 * A line of ATIF for training: messages and responses, with tools, tokens and reasoning. It leaves out grades, times
 * and everything else that an export keeps for re-import. A step that must not be learned has `extra.proctor.weight` 0.
 */
export function atifTrainingFormat(options: ConversationOptions = {}): LineFormat {
  const whole = atifFormat('1.8');
  return {
    name: 'atif',
    toLine: (trace, context) => {
      // Lines with bytes are refused below, so no address is read from the store.
      const line = whole.toLine(trace, { ...context, addressOf: () => 'data:,' });
      if (line === undefined) return undefined;
      if (hasBytes(line)) {
        context.losses.add('trace', 'a line of ATIF names files beside it, and the conversation has images or audio');
        return undefined;
      }
      const main = trace.turns.flatMap(({ turn }) => trace.steps.filter((step) => step.turn === turn && isMain(step)));
      const branches = listOf(line.subagent_trajectories).map((branch) => {
        const steps = trace.steps.filter((step) => `${trace.trace_id}/${step.branch}` === branch.trajectory_id);
        return toLearned(branch, steps, trace, options);
      });
      const learned = toLearned(line, main, trace, options);
      return branches.length === 0 ? learned : { ...learned, subagent_trajectories: branches };
    },
  };
}

/** @param steps steps of the trace that asked a model, in the order of the line. */
function toLearned(
  { extra: _extra, ...line }: JsonObject,
  steps: readonly Step[],
  trace: Trace,
  options: ConversationOptions,
): JsonObject {
  const asked = steps.values();
  const written = listOf(line.steps).map((step) => {
    if (step.source !== 'agent') return toLearnedStep(step, true, options);
    const own = step.llm_call_count === 0 ? undefined : asked.next().value;
    return toLearnedStep(step, own !== undefined && !hasFailedCall(own, trace.tools, options), options);
  });
  return { ...line, steps: written };
}

function toLearnedStep(step: JsonObject, isLearned: boolean, { reasoning }: ConversationOptions): JsonObject {
  const { extra: _extra, timestamp: _timestamp, reasoning_content: thought, observation, ...kept } = step;
  const results = isJsonObject(observation) ? listOf(observation.results) : [];
  return withoutUndefined({
    ...kept,
    reasoning_content: reasoning === 'drop' ? undefined : thought,
    observation: results.length === 0 ? undefined : { results: results.map(({ extra: _own, ...result }) => result) },
    extra: isLearned ? undefined : { [EXTENSION]: { weight: 0 } },
  });
}

function hasBytes(line: JsonObject): boolean {
  return [line, ...listOf(line.subagent_trajectories)]
    .flatMap(({ steps }) => listOf(steps))
    .flatMap(({ message, observation }) => [
      message,
      ...(isJsonObject(observation) ? listOf(observation.results).map(({ content }) => content) : []),
    ])
    .some((content) => listOf(content).some(({ source }) => source !== undefined));
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
