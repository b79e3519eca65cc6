import type { SandboxEngines } from '../open-engine.ts';
import { checkSandboxOptions, imageText } from '../options.ts';
import type { SandboxOptions } from '../sandbox.ts';
import { refuseUnenforced } from './open-sandbox.ts';

/** A declared sandbox, whose options are known if they do not depend on the arguments of a scenario. */
export interface DeclaredOptions {
  readonly name: string;
  readonly fixed: SandboxOptions | undefined;
}

/**
 * Checks that sandboxes can be made: the engine answers, takes images where one is needed, and enforces the limits. No
 * image is fetched.
 *
 * @throws EngineError that names the sandbox and the way out; TypeError for options of the wrong type.
 */
export async function checkDeclared(
  declared: readonly DeclaredOptions[],
  engines: SandboxEngines,
  signal: AbortSignal,
): Promise<void> {
  for (const { name, fixed } of declared) {
    if (fixed === undefined) continue;
    const checked = checkSandboxOptions(name, fixed);
    const image = checked.image === undefined ? undefined : imageText(checked.image);
    refuseUnenforced(name, checked, await engines.ready(image, signal));
  }
}
