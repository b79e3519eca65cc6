import { preview } from '../schema/json-schema.ts';
import type { EnvironmentDefinition } from './definition.ts';

/**
 * The default export of an environment module: a class that extends `EnvironmentServer`, a factory that returns one, or
 * an instance. Told apart by a `Symbol.for` brand, never by `instanceof`: the module may have loaded another copy of
 * this package.
 */
export type EnvironmentSource = unknown;

export interface EnvironmentInstance {
  readonly definition: EnvironmentDefinition;
  /** True when the source is an instance: every session shares its state. */
  readonly isShared: boolean;
}

/** The property of an `EnvironmentServer` that holds its definition. */
export const ENVIRONMENT = Symbol.for('proctor.environment');

/**
 * Makes the instance of one session: a new one of a class or a factory, the shared one of an instance.
 *
 * @throws TypeError when `source` is none of them, saying what a module has to export; whatever the author's constructor
 *   or factory throws.
 */
export function instantiateEnvironment(source: EnvironmentSource): EnvironmentInstance {
  if (isEnvironment(source)) return { definition: environmentDefinition(source), isShared: true };
  if (typeof source !== 'function') throw unusable(describeExport(source));
  if (isEnvironment(source.prototype)) {
    const instance: unknown = Reflect.construct(source, []);
    return { definition: environmentDefinition(instance), isShared: false };
  }
  if (isClass(source)) throw unusable(`the class ${source.name || '(without a name)'}, which does not extend it`);
  const made: unknown = source();
  if (made instanceof Promise) {
    made.catch(() => {});
    throw unusable('an async factory; a factory returns at once, and what takes time belongs in the initialize hook');
  }
  if (!isEnvironment(made)) throw unusable(`a function that returns ${describeExport(made)}`);
  return { definition: environmentDefinition(made), isShared: false };
}

/**
 * The definition of an instance of `EnvironmentServer`.
 *
 * @throws TypeError when `instance` is something else.
 */
export function environmentDefinition(instance: unknown): EnvironmentDefinition {
  if (!isEnvironment(instance)) throw unusable(describeExport(instance));
  return instance[ENVIRONMENT];
}

function isEnvironment(value: unknown): value is { readonly [ENVIRONMENT]: EnvironmentDefinition } {
  return typeof value === 'object' && value !== null && ENVIRONMENT in value;
}

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}

function unusable(found: string): TypeError {
  return new TypeError(
    `An environment module has to export, by default, a class that extends EnvironmentServer, a function that returns one, or an instance; found ${found}`,
  );
}

function describeExport(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'function') return `the function ${value.name || '(without a name)'}`;
  return typeof value === 'object' && value !== null
    ? `an object with the keys ${preview(Object.keys(value))}`
    : preview(value);
}
