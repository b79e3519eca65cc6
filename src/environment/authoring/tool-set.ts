import type { EnvironmentServer } from './environment-server.ts';

/** Tools that an environment gets by `use`, such as those of `proctor/tools`. */
export interface ToolSet {
  /** The purpose of the tools. An environment has at most one set of each role. */
  readonly role?: 'shell' | 'editor' | 'patch' | 'files' | 'computer' | undefined;
  addTo(env: EnvironmentServer): void;
}
