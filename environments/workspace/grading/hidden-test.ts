/** Anything that JSON can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** One thing to do with the agent's module, and what should come of it. */
export type Step = Action & Outcome;

type Action =
  /** Calls an exported function. */
  | { readonly call: string; readonly args: readonly Json[] }
  /** Makes an object of an exported class, which the steps after it are about. */
  | { readonly construct: string; readonly args: readonly Json[] }
  | { readonly method: string; readonly args: readonly Json[] }
  | { readonly property: string; readonly args: readonly [] };

type Outcome =
  /** `undefined` and what else JSON cannot hold is written as in `<undefined undefined>`. Arguments have to stay as they were. */
  | { readonly gives: Json }
  /** The name of the error. */
  | { readonly throws: string };

export interface HiddenTest {
  readonly name: string;
  readonly steps: readonly Step[];
  /** True for what works already in the files that the agent begins with: it earns nothing, and must not be broken. */
  readonly isGuard?: boolean;
}
