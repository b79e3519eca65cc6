import type { Json, JsonObject } from '../../../contract/json.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { sumUsage } from '../../../contract/service/usage.ts';
import { PROCTOR_VERSION } from '../../../support/runtime/version.ts';
import { REWARD, type SamplePlace, toModelUsage } from './sample-parts.ts';

/** The head of a log, which summarizes its samples. Its size does not grow with their number. */
export class InspectHead {
  readonly #tasks = new Set<string>();
  readonly #usage = new Map<string, TraceSummary['usage']>();
  readonly #places = new Places();
  #samples = 0;
  #completed = 0;
  #epochs = 1;
  #rewards = { count: 0, sum: 0, squares: 0 };
  #first: string | undefined;
  #last: string | undefined;

  add(trace: TraceSummary): void {
    this.#tasks.add(
      trace.env_name === trace.scenario_name ? trace.env_name : `${trace.env_name}/${trace.scenario_name}`,
    );
    const known = this.#usage.get(trace.model);
    this.#usage.set(trace.model, known === undefined ? trace.usage : { ...known, ...sumUsage([known, trace.usage]) });
    this.#epochs = Math.max(this.#epochs, this.#places.of(trace).epoch);
    this.#samples += 1;
    if (trace.status === 'completed') this.#completed += 1;
    if (trace.reward !== null) {
      const { count, sum, squares } = this.#rewards;
      this.#rewards = { count: count + 1, sum: sum + trace.reward, squares: squares + trace.reward ** 2 };
    }
    if (this.#first === undefined || trace.created_at < this.#first) this.#first = trace.created_at;
    const end = trace.finished_at ?? trace.created_at;
    if (this.#last === undefined || end > this.#last) this.#last = end;
  }

  /**
   * Everything of the log except its samples. @param id of the log. @param runId common id of the logs of one
   * evaluation.
   */
  toJson(id: string, runId = id): JsonObject {
    const started = this.#first ?? new Date(0).toISOString();
    return {
      version: 2,
      status: 'success',
      ...this.toStart(id, runId),
      results: {
        total_samples: this.#samples,
        completed_samples: this.#completed,
        scores: this.#rewards.count === 0 ? [] : [this.#toScore()],
      },
      stats: {
        started_at: started,
        completed_at: this.#last ?? started,
        model_usage: Object.fromEntries([...this.#usage].map(([model, usage]) => [model, toModelUsage(usage)])),
      },
    };
  }

  /** The fields that are known when a log begins. */
  toStart(id: string, runId = id): JsonObject {
    const models = [...this.#usage.keys()];
    return {
      eval: {
        eval_id: id,
        run_id: runId,
        created: this.#first ?? new Date(0).toISOString(),
        task: nameOf([...this.#tasks]),
        task_id: id,
        task_version: 0,
        task_args: {},
        dataset: { name: nameOf([...this.#tasks]), samples: this.#samples, shuffled: false },
        model: nameOf(models),
        model_args: {},
        config: { epochs: this.#epochs },
        packages: { proctor: PROCTOR_VERSION },
        scorers: [{ name: REWARD, metrics: [{ name: 'mean' }, { name: 'stderr' }] }],
      },
      plan: { name: 'proctor', steps: [{ solver: 'proctor', params: {} }], config: {} },
    };
  }

  #toScore(): Json {
    const { count, sum, squares } = this.#rewards;
    const mean = sum / count;
    const variance = count < 2 ? 0 : Math.max(0, (squares - count * mean ** 2) / (count - 1));
    const metric = (name: string, value: number) => ({ name, value, params: {} });
    return {
      name: REWARD,
      scorer: REWARD,
      scored_samples: count,
      unscored_samples: this.#samples - count,
      params: {},
      metrics: { mean: metric('mean', mean), stderr: metric('stderr', Math.sqrt(variance / count)) },
    };
  }
}

/** Assigns each trace a unique place in the log: the task's name, and the attempt's number or the next free one. */
export class Places {
  readonly #taken = new Map<string, Set<number>>();

  of(
    trace: Pick<TraceSummary, 'task_id' | 'attempt_index' | 'env_name' | 'scenario_name' | 'scenario_args'>,
  ): SamplePlace {
    const id = toSampleId(trace);
    const taken = this.#taken.get(id) ?? new Set();
    this.#taken.set(id, taken);
    let epoch = trace.attempt_index ?? taken.size + 1;
    while (taken.has(epoch)) epoch += 1;
    taken.add(epoch);
    return { id, epoch };
  }
}

const MAX_ID = 120;

/** A name that is also safe as part of a file name in a zip. */
function toSampleId({ task_id, env_name, scenario_name, scenario_args }: Parameters<Places['of']>[0]): string {
  const args = Object.entries(scenario_args).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const id = task_id ?? [env_name, scenario_name, ...args].join(' ');
  return (
    id
      .replaceAll(/[^\p{L}\p{N} _.,=@-]+/gu, '_')
      .replaceAll('..', '_')
      .slice(0, MAX_ID) || 'sample'
  );
}

/**
 * A log has one task and one model. For several names the head gives the first and a count; each sample has its own.
 */
function nameOf(names: readonly string[]): string {
  const [first = 'none', ...others] = names;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
