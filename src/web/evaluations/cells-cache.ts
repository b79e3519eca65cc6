import { isDeepStrictEqual } from 'node:util';
import { isEnded } from '../../contract/service/ended.ts';
import type { GradesQuery } from '../../contract/service/replay.ts';
import type { EvaluationPlan } from '../../evaluation/evaluations/evaluation-plan.ts';
import type { Cell } from '../../evaluation/evaluations/report/read-cells.ts';
import type { Database } from '../../store/database/database.ts';
import { readTaskCells, readTaskIds, type TaskCells } from './task-cells.ts';

/** Cells that are read again at most so often, in milliseconds, however fast that is. */
const LEAST_MS = 1_000;
/** Reading again may take one part in so many of the time. */
const SHARE = 100;
/** Evaluations whose cells are kept, as long as they have no more cells together: about 130 bytes for each. */
const MOST_KEPT = 8;
const MOST_CELLS = 200_000;

export interface VersionedCells {
  readonly cells: TaskCells;
  /** Grows when an attempt has changed. Those of two starts of a service have nothing in common. */
  readonly version: number;
}

interface CachedCells {
  /** Says when the cells of an ended evaluation are of no use any more. */
  readonly key: string;
  readonly cells: TaskCells;
  readonly version: number;
  readonly readAt: number;
  readonly tookMs: number;
}

/**
 * The cells of evaluations that somebody looks at. All pages share them. Those of a running one are read again when they
 * are asked for, after a hundred times as long as reading them took: a page that is open costs a hundredth of a core.
 */
export class CellsCache {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #kept = new Map<string, CachedCells>();
  readonly #reading = new Map<string, Promise<CachedCells>>();
  #lastVersion = Date.now();

  constructor(database: Database, now: () => number = () => performance.now()) {
    this.#database = database;
    this.#now = now;
  }

  /** @param grades `current`: by the newest grades, which an ended evaluation can get at any time. */
  async get(plan: EvaluationPlan, grades: GradesQuery = 'recorded'): Promise<VersionedCells> {
    const id = `${plan.evaluationId} ${grades}`;
    const known = this.#kept.get(id);
    const kept = known !== undefined && this.#isFresh(known, plan, grades) ? known : await this.#read(plan, grades);
    this.#keep(id, kept);
    return kept;
  }

  #isFresh(kept: CachedCells, plan: EvaluationPlan, grades: GradesQuery): boolean {
    if ((isEnded(plan.status) && grades === 'recorded') || kept.key !== keyOf(plan)) return kept.key === keyOf(plan);
    return this.#now() < kept.readAt + paceOf(kept);
  }

  async #read(plan: EvaluationPlan, grades: GradesQuery): Promise<CachedCells> {
    const id = `${plan.evaluationId} ${grades} ${keyOf(plan)}`;
    const going = this.#reading.get(id);
    if (going !== undefined) return await going;
    const reading = this.#readNow(plan, grades).finally(() => this.#reading.delete(id));
    this.#reading.set(id, reading);
    return await reading;
  }

  async #readNow(plan: EvaluationPlan, grades: GradesQuery): Promise<CachedCells> {
    const known = this.#kept.get(`${plan.evaluationId} ${grades}`);
    const taskIds = known?.cells.taskIds ?? (await readTaskIds(this.#database, plan.evaluationId));
    const startedAt = this.#now();
    const cells = await readTaskCells(this.#database, plan, taskIds, grades);
    const readAt = this.#now();
    const isSame = known !== undefined && isEqual(known.cells, cells);
    this.#lastVersion += isSame ? 0 : 1;
    return {
      key: keyOf(plan),
      cells,
      version: isSame ? known.version : this.#lastVersion,
      readAt,
      tookMs: readAt - startedAt,
    };
  }

  /** The one that was asked for last is the last of the map. */
  #keep(key: string, kept: CachedCells): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    let count = 0;
    for (const [index, [id, { cells }]] of [...this.#kept].toReversed().entries()) {
      count += cells.cells.length;
      if (index > 0 && (index >= MOST_KEPT || count > MOST_CELLS)) this.#kept.delete(id);
    }
  }
}

function paceOf({ tookMs }: CachedCells): number {
  return Math.max(LEAST_MS, tookMs * SHARE);
}

function keyOf({ status, finishedAt, attempts }: EvaluationPlan): string {
  return `${status} ${finishedAt} ${attempts}`;
}

function isEqual(one: TaskCells, other: TaskCells): boolean {
  return (
    one.attempts === other.attempts &&
    one.cells.length === other.cells.length &&
    isDeepStrictEqual(one.open, other.open) &&
    one.cells.every((cell, place) => isSameCell(cell, other.cells[place])) &&
    isDeepStrictEqual(one.byModel, other.byModel)
  );
}

/** A deep comparison of 100,000 cells would take the event loop for a tenth of a second. */
function isSameCell(one: Cell | undefined, other: Cell | undefined): boolean {
  return (
    one?.done === other?.done &&
    one?.mean === other?.mean &&
    one?.lowest === other?.lowest &&
    one?.highest === other?.highest &&
    one?.passed === other?.passed &&
    one?.others.join() === other?.others.join()
  );
}
