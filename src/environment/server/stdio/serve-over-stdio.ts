import type { Readable, Writable } from 'node:stream';
import { SHUTDOWN_GRACE_MS } from '../../../contract/names.ts';
import type { EnvironmentSource } from '../../authoring/environment-source.ts';
import { type Report, reportToStderr } from '../cleanup.ts';
import { EnvironmentHost } from '../environment-host.ts';
import { takeHarnessKey, takeSandboxVariable } from '../harness-key.ts';
import { serveConnection } from '../serve-connection.ts';
import type { SessionChange } from '../session/session-changes.ts';
import { onSigterm } from '../sigterm.ts';
import { guardStdout, type StdoutGuard } from '../stdout-guard.ts';
import { takeProtocolOutput } from './protocol-output.ts';
import { StdioTransport } from './stdio-transport.ts';

export interface StdioOptions {
  readonly harnessKey?: string | undefined;
  /** Standard streams that were set up before the environment was loaded. The server takes them over. */
  readonly taken?: StdioProcess;
  readonly report?: Report | undefined;
  readonly createTransport?: (input: Readable, output: Writable) => StdioTransport;
  /** Called for changes in a session, even if no client asked for notifications. */
  readonly onChange?: ((change: SessionChange) => void) | undefined;
}

/** The parts of a process that serves over stdio. They are set up before any author code runs. */
export interface StdioProcess {
  readonly guard: StdoutGuard;
  readonly harnessKey: string | undefined;
  /** Settings of sandboxes, as `PROCTOR_SANDBOX` had them. */
  readonly sandbox: string;
  /** The stream for protocol messages. */
  readonly output: Writable;
}

export interface StdioServer {
  /** Name of the environment. */
  readonly name: string;
  readonly version: string;
  close(): Promise<void>;
}

/**
 * Redirects standard output, and removes the key, the protocol's descriptor and the settings of sandboxes from the
 * environment variables.
 *
 * @throws Error for a bad descriptor or key.
 */
export function takeStdio(harnessKey?: string): StdioProcess {
  const guard = guardStdout();
  try {
    const output = takeProtocolOutput() ?? guard.stdout;
    return { guard, harnessKey: takeHarnessKey(harnessKey), sandbox: takeSandboxVariable(), output };
  } catch (error) {
    guard.release();
    throw error;
  }
}

/**
 * Serves an environment over standard input and output, or with output to the descriptor of `PROCTOR_PROTOCOL_FD`. The
 * end of the input ends the session, runs the close hooks, and ends the process with 0. SIGTERM runs the shutdown hooks
 * too.
 *
 * @throws TypeError if it is not an environment; Error for a bad descriptor or key.
 */
export function serveOverStdio(environment: EnvironmentSource, options: StdioOptions = {}): StdioServer {
  const report = options.report ?? reportToStderr;
  const { guard, harnessKey, sandbox, output } = options.taken ?? takeStdio(options.harnessKey);
  try {
    const { onChange } = options;
    const authority = { harnessKey, isPeerTrusted: true };
    const host = new EnvironmentHost(environment, { authority, report, onChange, sandbox });
    const { createTransport = (from, to) => new StdioTransport(from, to) } = options;
    const transport = createTransport(process.stdin, output);
    const connection = serveConnection(host, transport);
    // Both standard streams break when the parent ends. That ends the session, but the cleanup must still run.
    process.stdout.on('error', () => {});
    process.stderr.on('error', () => {});

    let isEnding = false;
    const forgetSigterm = onSigterm((budgetMs) => {
      isEnding = true;
      return host.shutdown(budgetMs);
    });
    const onclose = transport.onclose;
    transport.onclose = () => {
      onclose?.();
      void host.close(SHUTDOWN_GRACE_MS.environment).then(() => {
        // If SIGTERM arrived meanwhile, its handler runs the shutdown hooks and ends the process.
        if (!isEnding) process.exit(0);
      });
    };
    return {
      name: host.name,
      version: host.version,
      async close() {
        isEnding = true;
        forgetSigterm();
        await connection.close();
        await host.close(SHUTDOWN_GRACE_MS.environment);
        guard.release();
      },
    };
  } catch (error) {
    guard.release();
    throw error;
  }
}
