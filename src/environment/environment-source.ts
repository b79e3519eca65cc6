import type { EnvironmentDefinition } from './definition.ts';

/**
 * What an environment module exports by default: a class that extends `EnvironmentServer`, a factory that returns one,
 * or an instance. Told apart by a `Symbol.for` brand, never by `instanceof`: the module may have loaded another copy of
 * this package.
 */
export type EnvironmentSource = unknown;

export interface OpenedEnvironment {
  readonly definition: EnvironmentDefinition;
  /** True when the source is an instance: every session shares its state. */
  readonly isShared: boolean;
}
