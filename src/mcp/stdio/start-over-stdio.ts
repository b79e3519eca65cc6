import { messageOf } from '../../contract/errors.ts';
import { loadEnvironmentModule } from '../load-module.ts';
import { serveOverStdio, takeStdio } from './serve-over-stdio.ts';

/**
 * Loads the module of an environment and serves it over stdio.
 *
 * @param prepared the URL of a file that is the same module, ready to be imported.
 * @throws Error of one line for what cannot be loaded or is no environment.
 */
export async function startOverStdio(path: string, prepared?: string): Promise<void> {
  // Before the module is loaded: its code must neither print into the protocol nor find the key.
  const taken = takeStdio();
  const environment = await loadEnvironmentModule(path, prepared);
  try {
    serveOverStdio(environment, { taken });
    // On a descriptor of its own an empty line says that the code is loaded. A plain client is sent nothing but messages.
    if (taken.output !== taken.guard.stdout) taken.output.write('\n');
  } catch (cause) {
    throw new Error(`${path}: ${messageOf(cause)}`, { cause });
  }
}
