import type { TraceSummary } from '../../../contract/service/trace.ts';

interface RewardedTrace {
  readonly id: string;
  readonly reward: number;
}

/** The best and the worst trace of each environment, scenario and arguments. */
export class Pairs {
  readonly #ends = new Map<string, { best: RewardedTrace; worst: RewardedTrace }>();

  add({ trace_id: id, env_name, scenario_name, scenario_args, reward }: TraceSummary): void {
    if (reward === null) return;
    const key = JSON.stringify([env_name, scenario_name, scenario_args]);
    const known = this.#ends.get(key);
    const scored = { id, reward };
    if (known === undefined) this.#ends.set(key, { best: scored, worst: scored });
    else if (reward > known.best.reward) known.best = scored;
    else if (reward < known.worst.reward) known.worst = scored;
  }

  /** Pairs of trace ids, best first. Equal rewards make no pair. */
  *ids(): Generator<readonly [string, string]> {
    for (const { best, worst } of this.#ends.values()) if (best.reward > worst.reward) yield [best.id, worst.id];
  }
}
