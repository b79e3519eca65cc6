import { ApiError, BoundaryError, messageOf } from '../../contract/errors.ts';
import { faultIn, type JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { checkSize } from '../../contract/size-limits.ts';
import { type SchemaIssue, UNKNOWN_ARGUMENT, validateJsonSchema } from '../../support/schema/json-schema.ts';
import { didYouMean } from '../../support/text/did-you-mean.ts';
import { withSafeIntegers } from './safe-integers.ts';

/** Maximum number of argument errors that a message lists. */
const MAX_LISTED_ISSUES = 20;

/**
 * Checks the arguments of a scenario with its schema, as its environment will do.
 *
 * @throws ApiError `request_too_large`; `invalid_scenario_args`, whose message lists all problems and whose `param` is
 *   the first.
 * @throws BoundaryError `environment` if the schema itself is invalid.
 */
export function checkScenarioArgs(entry: ScenarioEntry, args: JsonObject): void {
  checkSize('scenario_args', args);
  const issues = argumentIssues(entry, args);
  const [first] = issues;
  if (first === undefined) return;
  const toParam = (path: string) => (path === '' ? 'scenario_args' : `scenario_args.${path}`);
  const shown = issues.slice(0, MAX_LISTED_ISSUES).map(({ path, message }) => `${toParam(path)} ${message}`);
  const more = issues.length > shown.length ? [`and ${issues.length - shown.length} more`] : [];
  const listed = [...shown, ...more].join('; ');
  const names = entry.arguments.map((argument) => argument.name);
  const unknown = issues.find(({ path, message }) => message === UNKNOWN_ARGUMENT && !path.includes('.'));
  const meant = unknown === undefined ? '' : didYouMean(unknown.path, names);
  const takes = names.length === 0 ? 'It takes no arguments' : `Its arguments are ${names.join(', ')}`;
  throw new ApiError('invalid_scenario_args', `Scenario "${entry.short_name}": ${listed}.${meant} ${takes}.`, {
    param: toParam(first.path),
  });
}

/**
 * All problems with the arguments of a scenario by its schema, which is compiled once.
 *
 * @throws BoundaryError `environment` if the schema itself is invalid.
 */
export function argumentIssues(entry: ScenarioEntry, args: JsonObject): readonly SchemaIssue[] {
  const refused = validateBy(entry, args);
  // Even if the schema allows any arguments, values that JSON would lose on the way are reported.
  return refused.length > 0 ? refused : faultsOf(args);
}

function faultsOf(args: JsonObject): readonly SchemaIssue[] {
  const fault = faultIn(args);
  if (fault === undefined) return [];
  const got = fault.got === undefined ? '' : `, got ${fault.got}`;
  return [{ path: fault.path.join('.'), message: `has to be ${fault.message}${got}` }];
}

function validateBy(entry: ScenarioEntry, args: JsonObject): readonly SchemaIssue[] {
  try {
    return validateJsonSchema(withSafeIntegers(entry.args_schema), args);
  } catch (error) {
    const message = `The arguments of the scenario "${entry.name}" have a schema that is not valid: ${messageOf(error)}`;
    throw new BoundaryError('environment', 'environment_failed', message, { cause: error });
  }
}
