/**
 * Loads the module that the command line names and serves its default export, with the transport of `PROCTOR_TRANSPORT`
 * and `PROCTOR_PORT`, or over stdio. Proctor starts it with the harness key and the protocol on extra file descriptors,
 * or as a host of many sessions.
 */
import { preloadSchemas } from '@modelcontextprotocol/server';
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import { takeHarnessKey, takeSandboxVariable } from '../harness-key.ts';
import { loadEnvironmentModule } from '../load-module.ts';
import { optionsOf, serve } from '../serve.ts';
import { failStart } from './fail-start.ts';
import { startOverStdio } from './start-over-stdio.ts';

const [, , path] = process.argv;
try {
  if (path === undefined) throw new Error('Usage: node environment-main.js <path of an environment module>');
  const { developmentFd, hostFd } = PROCESS_VARIABLES;
  if (process.env[developmentFd] !== undefined) {
    const { serveForDevelopment } = await import('./development.ts');
    await serveForDevelopment(path);
  } else if (process.env[hostFd] !== undefined) {
    // Loaded here, because a process for one session starts faster without it.
    const { serveAsHost } = await import('../host/serve-as-host.ts');
    await serveAsHost(path);
  } else {
    const options = optionsOf(process.env);
    const isServer = options.transport === 'http' || options.transport === 'sse';
    await (isServer ? startHttp(path, options) : startStdio(path));
  }
} catch (error) {
  failStart(error);
}

async function startStdio(path: string): Promise<void> {
  await startOverStdio(path);
  // The client has not sent its first message yet, so there is time to build the SDK's schemas.
  setImmediate(preloadSchemas);
}

async function startHttp(path: string, options: ReturnType<typeof optionsOf>): Promise<void> {
  const taken = { harnessKey: takeHarnessKey(undefined), sandbox: takeSandboxVariable() };
  const { url } = await serve(await loadEnvironmentModule(path), { ...options, ...taken });
  process.stderr.write(`Serving ${path} at ${url}\n`);
}
