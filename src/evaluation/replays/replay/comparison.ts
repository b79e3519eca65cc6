import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../contract/json.ts';
import type { EventBody, EventOf } from '../../../contract/service/event.ts';
import type { Difference, ReplayResult } from '../../../contract/service/replay.ts';
import type { ToolResultRecord, Trace } from '../../../contract/service/trace.ts';
import type { Redactor } from '../../../support/redaction/redactor.ts';
import { createObservations, type Observations } from '../snapshots.ts';
import { toJson } from '../to-json.ts';
import { toExcerpts } from './excerpts.ts';

type Setup = EventOf<'setup.completed'>;

/** One call of a trace, by its place. */
export interface CallPlace {
  /** From 1; 0 outside of steps. */
  readonly step: number;
  /** From 1. */
  readonly call: number;
}

/** Compares a repeated run with its trace, event by event, and keeps the first difference. */
export class Comparison {
  readonly #trace: Trace;
  readonly #redactor: Redactor;
  #observations: Observations = createObservations();
  #difference: Difference | undefined;
  #isSetUp = false;
  #reward: number | null = null;

  /** @param redactor of the store, so that both sides are redacted in the same way. */
  constructor(trace: Trace, redactor: Redactor) {
    this.#trace = trace;
    this.#redactor = redactor;
  }

  /** The first difference so far. */
  get difference(): Difference | undefined {
    return this.#difference;
  }

  /** Compares an event of the repeated run, except for tool results. */
  saw(event: EventBody): void {
    if (event.type === 'setup.completed') this.#sawSetup(this.#redactor.json(event));
    if (event.type === 'evaluation.completed') this.#reward = event.evaluation.reward;
  }

  /** Compares a result. @returns true if it equals the recorded one, except for volatile parts. */
  sawResult(recorded: ToolResultRecord, place: CallPlace, event: EventOf<'tool.responded'>): boolean {
    const [before, after] = [toObservation(recorded), toObservation(this.#redactor.json(event))];
    if (this.#observations.sameResult(recorded.name, before, after)) return true;
    this.#add({ at: 'step', ...place, ...toExcerpts(toJson(before), toJson(after)) });
    return false;
  }

  /** True if a result equals the recorded one exactly, including volatile parts. */
  isExact(recorded: ToolResultRecord, event: EventOf<'tool.responded'>): boolean {
    return isDeepStrictEqual(toObservation(recorded), toObservation(this.#redactor.json(event)));
  }

  /** The result of repeating a whole trace. */
  toResult({ error }: Pick<EventOf<'run.finished'>, 'error'>): ReplayResult {
    const { evaluation } = this.#trace;
    if (wasSetUp(this.#trace) !== this.#isSetUp) {
      const told = (isSetUp: boolean, why: Json) => (isSetUp ? null : { error: why });
      const before = told(!this.#isSetUp, toJson(this.#trace.error));
      this.#add({ at: 'prompt', ...NOWHERE, before, after: told(this.#isSetUp, toJson(error)) });
    }
    // A cancelled run was not evaluated, so there is nothing to compare the new evaluation with.
    const before = evaluation?.reward ?? null;
    if (this.#trace.status !== 'cancelled' && before !== this.#reward) {
      this.#add({ at: 'reward', ...NOWHERE, before, after: this.#reward });
    }
    return { identical: this.#difference === undefined, difference: this.#difference ?? null };
  }

  #sawSetup({ system, prompt, tools, volatile }: Setup): void {
    this.#isSetUp = true;
    this.#observations = createObservations(volatile);
    const recorded = this.#trace;
    if (!wasSetUp(recorded)) return;
    const said = [toMessages(recorded), toMessages({ system, prompt })] as const;
    if (!this.#observations.samePrompt(...said)) {
      const [before, after] = [recorded, { system, prompt }].map((each) => ({
        system: each.system,
        prompt: each.prompt,
      }));
      this.#add({ at: 'prompt', ...NOWHERE, ...toExcerpts(toJson(before), toJson(after)) });
    }
    if (!this.#observations.sameTools(recorded.tools, tools)) {
      this.#add({ at: 'tools', ...NOWHERE, ...toExcerpts(...differingTools(recorded.tools, tools)) });
    }
  }

  #add(difference: Difference): void {
    this.#difference ??= difference;
  }
}

const NOWHERE = { step: null, call: null } as const;

/** A scenario without prompt, system text and tools looks like one that was not set up. The comparison needs no distinction. */
function wasSetUp({ prompt, turns, tools, system }: Trace): boolean {
  return prompt.length > 0 || tools.length > 0 || system !== null || turns.length > 0;
}

/** The system text is part of the prompt. */
function toMessages({ system, prompt }: Pick<Setup, 'system' | 'prompt'>): Setup['prompt'] {
  return system === null ? prompt : [{ role: 'system', content: system }, ...prompt];
}

/** The tools that differ; only names if just their order differs. */
function differingTools(before: Setup['tools'], after: Setup['tools']): [Json, Json] {
  const without = (tools: Setup['tools'], others: Setup['tools']) => {
    const byName = new Map(others.map((tool) => [tool.name, tool]));
    return tools.filter((tool) => !isDeepStrictEqual(tool, byName.get(tool.name)));
  };
  const [gone, added] = [without(before, after), without(after, before)];
  if (gone.length + added.length > 0) return [toJson(gone), toJson(added)];
  return [before.map(({ name }) => name), after.map(({ name }) => name)];
}

function toObservation({
  content,
  structured_content,
  is_error,
}: Omit<ToolResultRecord, 'arguments' | 'raw_arguments'>) {
  // An environment gives an object or nothing there.
  return { content, structured_content: structured_content as { [key: string]: Json } | null, is_error };
}
