import { preview } from '../../support/schema/json-schema.ts';
import type { EnvironmentDefinition } from './definition.ts';

/**
 * The default export of an environment module: a class that extends `EnvironmentServer`, a factory that returns an
 * instance, or an instance. A `Symbol.for` brand identifies it instead of `instanceof`, because the module may have
 * loaded another copy of this package.
 */
export type EnvironmentSource = unknown;

export interface EnvironmentInstance {
  readonly definition: EnvironmentDefinition;
  /** True if the source is an instance, so all sessions share its state. */
  readonly isShared: boolean;
}

/** The property of an `EnvironmentServer` that holds its definition. */
export const ENVIRONMENT = Symbol.for('proctor.environment');

/**
 * Returns the instance for one session: a new one from a class or a factory, or the shared one.
 *
 * @throws TypeError if `source` is not an environment, with a message that says what a module has to export; any error
 *   of the author's constructor or factory.
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
 * @throws TypeError if `instance` is something else.
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
