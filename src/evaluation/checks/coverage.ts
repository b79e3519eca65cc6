import { type FindingName, type FindingState, findingNameSchema } from '../../contract/service/check.ts';
import type { CheckTask, Finding } from './finding.ts';

/** Most tasks that a message names. */
const MAX_NAMED = 6;
/** Findings about the whole environment. All others are tried for each scenario. */
const OF_THE_ENVIRONMENT: readonly FindingName[] = ['isolated', 'order', 'clean', 'secrets', 'described'];

/** A scenario or a task; the whole environment if neither is given. */
export interface CoveragePlace {
  readonly task?: CheckTask | undefined;
  readonly scenario?: string | undefined;
}

interface Gap {
  readonly finding: FindingName;
  readonly scenario: string | undefined;
  readonly why: string;
  readonly ids: Set<string>;
}

/** Records which findings were tried where, and why others were not. */
export class Coverage {
  readonly #tried = new Set<string>();
  readonly #gaps = new Map<string, Gap>();

  tried(finding: FindingName, { task, scenario = task?.scenario.short_name }: CoveragePlace = {}): void {
    this.#tried.add(keyOf(finding, isOfEnvironment(finding) ? undefined : scenario));
  }

  /** @param why the reason, a sentence without its full stop that follows a colon. */
  notTried(
    findings: FindingName | readonly FindingName[],
    why: string,
    { task, scenario = task?.scenario.short_name }: CoveragePlace = {},
  ): void {
    for (const finding of typeof findings === 'string' ? [findings] : findings) {
      const key = JSON.stringify([finding, scenario, why]);
      const gap = this.#gaps.get(key) ?? { finding, scenario, why, ids: new Set() };
      if (task !== undefined) gap.ids.add(task.id);
      this.#gaps.set(key, gap);
    }
  }

  /** Records every finding without a record as not tried, so that a gap does not look like a success. */
  close(scenarios: readonly string[], why: string): void {
    for (const finding of findingNameSchema.options) {
      const places = isOfEnvironment(finding) || scenarios.length === 0 ? [undefined] : scenarios;
      for (const scenario of places) {
        const isKnown = [...this.#gaps.values()].some(
          (gap) => gap.finding === finding && (gap.scenario === scenario || scenario === undefined),
        );
        if (!isKnown && !this.#tried.has(keyOf(finding, scenario))) this.notTried(finding, why, { scenario });
      }
    }
  }

  /** One note for each finding, scenario and reason. */
  notes(): readonly Finding[] {
    return [...this.#gaps.values()].map(({ finding, scenario, why, ids }) => {
      const named = [...ids].slice(0, MAX_NAMED).join(', ');
      const more = ids.size > MAX_NAMED ? ` and ${ids.size - MAX_NAMED} more` : '';
      const tasks = ids.size === 0 ? '' : ` with ${named}${more}`;
      const end = this.#isTried(finding, scenario) ? ' to the end' : '';
      return { finding, level: 'note', scenario, isUntried: true, message: `Not tried${end}${tasks}: ${why}.` };
    });
  }

  /** @param found all findings; notes do not count. */
  states(found: readonly Finding[]): readonly { readonly finding: FindingName; readonly state: FindingState }[] {
    return findingNameSchema.options.map((finding) => {
      const isFound = found.some((each) => each.finding === finding && each.level !== 'note');
      const hasGap = [...this.#gaps.values()].some((gap) => gap.finding === finding);
      if (isFound) return { finding, state: 'found' };
      if (!hasGap) return { finding, state: 'tried' };
      return { finding, state: this.#isTried(finding, undefined) ? 'partly_tried' : 'not_tried' };
    });
  }

  #isTried(finding: FindingName, scenario: string | undefined): boolean {
    if (scenario !== undefined) return this.#tried.has(keyOf(finding, scenario));
    return [...this.#tried].some((key) => key.startsWith(`${finding} `));
  }
}

function isOfEnvironment(finding: FindingName): boolean {
  return OF_THE_ENVIRONMENT.includes(finding);
}

function keyOf(finding: FindingName, scenario: string | undefined): string {
  return `${finding} ${scenario ?? ''}`;
}
