import type { JsonObject } from '../../../contract/json.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { PROCTOR_VERSION } from '../../../support/runtime/version.ts';

type Task = Pick<TraceSummary, 'task_id' | 'env_name' | 'scenario_name' | 'scenario_args'>;

/** `metadata.json` of a folder of results, and the index of each task. */
export class VerifiersMetadata {
  readonly #tasks = new Map<string, { attempts: number }>();
  readonly #envs = new Set<string>();
  readonly #models = new Set<string>();
  readonly #metrics = new Map<string, { sum: number; count: number }>();
  #indices: ReadonlyMap<string, number> | undefined;
  #rewards = { sum: 0, count: 0 };
  #errors = 0;
  #traces = 0;
  #tokens = { input_tokens: 0, output_tokens: 0 };
  #first: string | undefined;

  add(trace: TraceSummary): void {
    const key = keyOf(trace);
    const task = this.#tasks.get(key) ?? { attempts: 0 };
    task.attempts += 1;
    this.#tasks.set(key, task);
    this.#envs.add(trace.env_name);
    this.#models.add(trace.model);
    this.#traces += 1;
    this.#rewards = { sum: this.#rewards.sum + (trace.reward ?? 0), count: this.#rewards.count + 1 };
    if (trace.error !== null || trace.reward === null) this.#errors += 1;
    this.#tokens.input_tokens += trace.usage.prompt_tokens;
    this.#tokens.output_tokens += trace.usage.completion_tokens;
    for (const { name, value } of trace.evaluation?.subscores ?? []) {
      const known = this.#metrics.get(name) ?? { sum: 0, count: 0 };
      this.#metrics.set(name, { sum: known.sum + value, count: known.count + 1 });
    }
    if (this.#first === undefined || trace.created_at < this.#first) this.#first = trace.created_at;
  }

  /** Index of the task among those that were added, by id. */
  indexOf(trace: Task): number {
    this.#indices ??= new Map([...this.#tasks.keys()].sort().map((key, index) => [key, index]));
    return this.#indices.get(keyOf(trace)) ?? this.#indices.size;
  }

  toJson(): JsonObject {
    const count = Math.max(1, this.#traces);
    const attempts = [...this.#tasks.values()].map((task) => task.attempts);
    const metrics = [...this.#metrics].map(([name, { sum, count: of }]) => [name, sum / of]);
    return {
      env_id: [...this.#envs].join(','),
      env_args: {},
      model: [...this.#models].join(','),
      base_url: '',
      num_examples: this.#tasks.size,
      rollouts_per_example: Math.max(1, ...attempts.slice(0, 10_000)),
      sampling_args: {},
      date: (this.#first ?? new Date(0).toISOString()).slice(0, 19).replace('T', ' '),
      time: 0,
      avg_reward: this.#rewards.sum / count,
      avg_metrics: Object.fromEntries(metrics),
      avg_error: this.#errors / count,
      pass_at_k: {},
      pass_all_k: {},
      pass_threshold: 0.5,
      usage: { input_tokens: this.#tokens.input_tokens / count, output_tokens: this.#tokens.output_tokens / count },
      version_info: { vf_version: `proctor ${PROCTOR_VERSION}`, vf_commit: null, env_version: null, env_commit: null },
      state_columns: [],
      path_to_save: '.',
      tools: null,
    };
  }
}

function keyOf({ task_id, env_name, scenario_name, scenario_args }: Task): string {
  return task_id ?? JSON.stringify([env_name, scenario_name, scenario_args]);
}
