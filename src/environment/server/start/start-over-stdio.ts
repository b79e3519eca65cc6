import { messageOf } from '../../../contract/errors.ts';
import { loadEnvironmentModule } from '../load-module.ts';
import { serveOverStdio, takeStdio } from '../stdio/serve-over-stdio.ts';

/**
 * Loads the module of an environment and serves it over stdio.
 *
 * @param prepared is the URL of a prepared file with the same module.
 * @throws Error of one line if it cannot be loaded or is not an environment.
 */
export async function startOverStdio(path: string, prepared?: string): Promise<void> {
  // Done before the module is loaded, because its code must neither print into the protocol nor find the key.
  const taken = takeStdio();
  const environment = await loadEnvironmentModule(path, prepared);
  try {
    serveOverStdio(environment, { taken });
    // An empty line on an extra descriptor reports that the code is loaded. A plain client gets only messages.
    if (taken.output !== taken.guard.stdout) taken.output.write('\n');
  } catch (cause) {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause });
  }
}
