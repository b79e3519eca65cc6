import { isJsonObject, type Json, type JsonSchema } from '../../../../contract/json.ts';
import type { ScenarioEntry, ScenarioList } from '../../../../contract/scenario.ts';
import type { EnvironmentDefinition, ScenarioDefinition } from '../../../authoring/definition.ts';

/** The resource `svc://scenarios`. Agents read it too, so it must not contain secrets. */
export function toScenarioList(definition: EnvironmentDefinition): ScenarioList {
  return { scenarios: [...definition.scenarios.values()].map((scenario) => toEntry(definition.name, scenario)) };
}

/** The arguments of a scenario from its schema, in the schema's order. */
export function scenarioArguments(scenario: ScenarioDefinition): ScenarioEntry['arguments'] {
  const { properties, required } = scenario.args.jsonSchema;
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => {
    const { description, default: fallback = null } = isJsonObject(schema) ? schema : {};
    return {
      name,
      type: typeName(schema),
      required: needed.has(name),
      description: typeof description === 'string' ? description : null,
      default: fallback as Json,
    };
  });
}

function toEntry(environment: string, scenario: ScenarioDefinition): ScenarioEntry {
  const args = scenarioArguments(scenario);
  const { user, needsJudge = false } = scenario;
  const needs = [
    ...(user !== undefined && user.next === undefined && user.model === undefined ? ['user' as const] : []),
    ...(needsJudge ? ['judge' as const] : []),
  ];
  return {
    name: `${environment}:${scenario.name}`,
    short_name: scenario.name,
    description: scenario.description ?? '',
    required_args: args.filter(({ required }) => required).map(({ name }) => name),
    arguments: args,
    args_schema: scenario.args.jsonSchema,
    ...(needs.length === 0 ? {} : { needs }),
  };
}

/** A type such as `integer` or `string | null`. `any` if the schema does not give one. */
function typeName(schema: unknown): string {
  if (!isJsonObject(schema)) return 'any';
  const { type, anyOf, oneOf, enum: values } = schema as JsonSchema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return type.join(' | ');
  const variants = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (variants !== undefined) return [...new Set(variants.map(typeName))].join(' | ');
  return Array.isArray(values) && values.every((value) => typeof value === 'string') ? 'string' : 'any';
}
