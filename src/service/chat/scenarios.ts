import { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { Catalogue } from '../../environment/client/catalogue.ts';
import { checkScenarioArgs } from '../../environment/client/scenario-args.ts';
import { preview } from '../../support/schema/json-schema.ts';

/** A scenario and its environment. */
export interface FoundScenario {
  readonly environment: string;
  readonly entry: ScenarioEntry;
}

/** Most names that an error message lists. */
const MAX_LISTED_NAMES = 20;

/** The scenarios of every environment of a scenario server. */
export class Scenarios {
  readonly #catalogue: Catalogue;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  /** @throws BoundaryError `environment` if an environment cannot be started. */
  async list(): Promise<readonly ScenarioEntry[]> {
    return (await this.#all()).map(({ entry }) => entry);
  }

  /**
   * @param name a short name, or a full one: `<environment>:<short name>`.
   * @throws ApiError scenario_not_found; invalid_parameter for a name that two environments share; BoundaryError
   *   as `list`.
   */
  async find(name: string): Promise<FoundScenario> {
    const all = await this.#all();
    const configured = all.find((found) => fullName(found) === name);
    if (configured !== undefined) return configured;
    const matches = all.filter(({ entry }) => entry.name === name || entry.short_name === name);
    const [only] = matches;
    if (only === undefined) throw unknownScenario(name, all);
    if (matches.length === 1) return only;
    const names = matches.map(fullName).join(', ');
    const message = `Several environments have a scenario ${preview(name)}: name one of ${names}.`;
    throw new ApiError('invalid_parameter', message, { param: 'scenario' });
  }

  /** @throws ApiError as `find`, and invalid_scenario_args. */
  async check(name: string, args: JsonObject): Promise<FoundScenario> {
    const found = await this.find(name);
    checkScenarioArgs(found.entry, args);
    return found;
  }

  async #all(): Promise<readonly FoundScenario[]> {
    const lists = await Promise.all(
      this.#catalogue
        .environments()
        .map(async (environment) =>
          (await this.#catalogue.scenarios(environment)).map((entry) => ({ environment, entry })),
        ),
    );
    return lists.flat();
  }
}

function fullName({ environment, entry }: FoundScenario): string {
  return `${environment}:${entry.short_name}`;
}

function unknownScenario(name: string, all: readonly FoundScenario[]): ApiError {
  const isShared = ({ entry }: FoundScenario) =>
    all.filter((other) => other.entry.short_name === entry.short_name).length > 1;
  const names = all
    .slice(0, MAX_LISTED_NAMES)
    .map((scenario) => (isShared(scenario) ? fullName(scenario) : scenario.entry.short_name));
  const more = all.length > names.length ? ` and ${all.length - names.length} more (GET /scenarios lists them)` : '';
  const known = names.length === 0 ? 'There are none' : `There are ${names.join(', ')}${more}`;
  return new ApiError('scenario_not_found', `There is no scenario ${preview(name)}. ${known}.`, { param: 'scenario' });
}
