import { describe, expect, it } from 'vitest';
import { ApiError, BoundaryError } from '../../../src/contract/errors.ts';
import type { JsonObject, JsonSchema } from '../../../src/contract/json.ts';
import type { ScenarioEntry } from '../../../src/contract/scenario.ts';
import { checkScenarioArgs } from '../../../src/environment/client/scenario-args.ts';

function entry(args_schema: JsonSchema): ScenarioEntry {
  const argument = (name: string) => ({ name, type: 'integer', required: true, description: null, default: null });
  return {
    name: 'counter:count_to',
    short_name: 'count_to',
    description: '',
    required_args: ['target'],
    arguments: [argument('target'), argument('limits')],
    args_schema,
  };
}

const countTo = entry({
  type: 'object',
  properties: {
    target: { type: 'integer', minimum: 0 },
    limits: { type: 'object', properties: { steps: { type: 'integer' } } },
  },
  required: ['target'],
  additionalProperties: false,
});

function refusal(args: JsonObject, of = countTo): unknown {
  try {
    checkScenarioArgs(of, args);
  } catch (error) {
    return error;
  }
  throw new Error('It was not refused');
}

describe('arguments of a scenario', () => {
  it('that fit its schema pass', () => {
    expect(() => checkScenarioArgs(countTo, { target: 0, limits: { steps: 2 } })).not.toThrow();
  });

  it.each([
    [{}, 'scenario_args.target', 'scenario_args.target is required'],
    [{ target: '3' }, 'scenario_args.target', 'scenario_args.target must be integer, got "3"'],
    [{ target: -1 }, 'scenario_args.target', 'scenario_args.target must be >= 0, got -1'],
    [{ target: 1, taget: 2 }, 'scenario_args.taget', 'scenario_args.taget is not an argument that exists'],
    [
      { target: 2 ** 53 },
      'scenario_args.target',
      'scenario_args.target must be <= 9007199254740991, got 9007199254740992',
    ],
    [
      { target: 1, limits: { steps: -1e20 } },
      'scenario_args.limits.steps',
      'scenario_args.limits.steps must be >= -9007199254740991, got -100000000000000000000',
    ],
    [
      { target: 1, limits: { steps: 'all' } },
      'scenario_args.limits.steps',
      'scenario_args.limits.steps must be integer, got "all"',
    ],
  ])('%j are refused with the param %s', (args, param, message) => {
    const error = refusal(args);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'invalid_scenario_args', status: 400, param });
    const told = (error as ApiError).message;
    expect(told.startsWith(`Scenario "count_to": ${message}.`)).toBe(true);
    expect(told.endsWith(' Its arguments are target, limits.')).toBe(true);
  });

  it('that are wrong in several ways are told all of them', () => {
    const error = refusal({ taget: 1, limits: 3 }) as ApiError;
    expect(error.message).toContain('scenario_args.target is required');
    expect(error.message).toContain('scenario_args.taget is not an argument that exists');
    expect(error.message).toContain('scenario_args.limits must be object, got 3');
  });

  it('whose schema is none are a failure of the environment', () => {
    const error = refusal({}, entry({ type: 'objekt' }));
    expect(error).toBeInstanceOf(BoundaryError);
    expect(error).toMatchObject({ boundary: 'environment', code: 'environment_failed' });
  });
});
