import type { Comparison } from '../../../contract/service/evaluation.ts';
import { differenceOf } from '../../statistics/paired-difference.ts';
import { compareTasks } from './compare-tasks.ts';
import type { ModelCells } from './model-cells.ts';
import type { TaskMatch } from './pair-tasks.ts';

/** Most ids in a list of tasks. */
const MAX_IDS = 1_000;

/** The first ids of a list that may be long, and how many there are. */
class IdList {
  readonly ids: string[] = [];
  count = 0;

  add(id: string): void {
    this.count += 1;
    if (this.ids.length < MAX_IDS) this.ids.push(id);
  }
}

export interface ComparedModel {
  readonly model: string;
  readonly cells: ModelCells;
}

interface ComparedModels {
  readonly a: ComparedModel;
  readonly b: ComparedModel;
  /** A number for each task of a, the same for tasks of one cluster. */
  readonly clusters: Int32Array;
}

/** Takes the tasks of two models in order of their ids, and compares the models by those that both have. */
export class ComparisonBuilder {
  readonly a: ComparedModel;
  readonly b: ComparedModel;
  readonly #clusters: Int32Array;
  readonly #pairs: { readonly a: number[]; readonly b: number[]; readonly clusters: number[] } = {
    a: [],
    b: [],
    clusters: [],
  };
  #isOneAttemptEach = true;
  readonly #lists = {
    won: new IdList(),
    lost: new IdList(),
    tied: new IdList(),
    only_a: new IdList(),
    only_b: new IdList(),
    changed: new IdList(),
  };

  constructor({ a, b, clusters }: ComparedModels) {
    this.a = a;
    this.b = b;
    this.#clusters = clusters;
  }

  addTasksOfA(matches: readonly TaskMatch[]): void {
    for (const { taskId, taskIndex, otherIndex, isSame } of matches) {
      if (otherIndex === null) this.#lists.only_a.add(taskId);
      else if (isSame) this.#addPair(taskId, taskIndex, otherIndex);
      else this.#lists.changed.add(taskId);
    }
  }

  /** Those that a lacks; the others have been added with the tasks of a. */
  addTasksOfB(matches: readonly TaskMatch[]): void {
    const [a, b] = [this.a.cells, this.b.cells];
    for (const { taskId, taskIndex, otherIndex, isSame } of matches) {
      const isMissing = otherIndex === null || (isSame && b.validOf(taskIndex) > 0 && a.validOf(otherIndex) === 0);
      if (isMissing) this.#lists.only_b.add(taskId);
    }
  }

  #addPair(taskId: string, aIndex: number, bIndex: number): void {
    const [a, b] = [this.a.cells, this.b.cells];
    const [aMean, bMean] = [a.meanOf(aIndex), b.meanOf(bIndex)];
    if (aMean === null) return;
    if (bMean === null) {
      this.#lists.only_a.add(taskId);
      return;
    }
    this.#pairs.a.push(aMean);
    this.#pairs.b.push(bMean);
    this.#pairs.clusters.push(this.#clusters[aIndex] ?? aIndex);
    if (a.validOf(aIndex) !== 1 || b.validOf(bIndex) !== 1) this.#isOneAttemptEach = false;
    const difference = differenceOf(aMean, bMean);
    this.#lists[difference === 0 ? 'tied' : difference > 0 ? 'won' : 'lost'].add(taskId);
  }

  toComparison(): Comparison {
    const { won, lost, tied, only_a, only_b, changed } = this.#lists;
    return {
      a_model: this.a.model,
      b_model: this.b.model,
      ...compareTasks({ ...this.#pairs, isOneAttemptEach: this.#isOneAttemptEach }),
      p_holm: null,
      won: won.ids,
      lost: lost.ids,
      tied: tied.ids,
      only_a: only_a.ids,
      only_b: only_b.ids,
      changed: changed.ids,
      won_count: won.count,
      lost_count: lost.count,
      tied_count: tied.count,
      only_a_count: only_a.count,
      only_b_count: only_b.count,
      changed_count: changed.count,
    };
  }
}
