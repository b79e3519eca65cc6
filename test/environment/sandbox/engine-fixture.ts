import type {
  CopyLimits,
  Engine,
  EngineSandbox,
  FileContent,
  ProcessRequest,
  SandboxSpec,
} from '../../../src/environment/sandbox/engine.ts';
import { type ExecRequest, type ExecResult, runExec } from '../../../src/environment/sandbox/exec.ts';
import { newId } from '../../../src/support/runtime/new-id.ts';

/** An engine that the suite tests, with what tests have to know about it. */
export interface EngineUnderTest {
  readonly engine: Engine;
  /** The image of its sandboxes; undefined for an engine that takes none. */
  readonly image: string | undefined;
  /** A user that exists inside, beside the default one. Undefined: the sandbox has one user only. */
  readonly otherUser: string | undefined;
  /** True for an engine without a wall: tests of what a wall does are left out, and named. */
  readonly isOpen: boolean;
  /** Processes, folders, networks and sockets that the engine still has of an owner. */
  leftovers(owner: string): Promise<readonly string[]>;
  /** Ends what the test harness has started for the engine. */
  close(): Promise<void>;
}

export const MIB = 1024 * 1024;
export const COPY: CopyLimits = { maxBytes: 16 * MIB, maxEntries: 1_000, maxDepth: 32 };
const WORKDIR = '/workspace';
const CALL_MS = 60_000;

/** A signal for one call, with a limit of its own. */
export function inTime(ms = CALL_MS): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** Sandboxes of one test file. All of them are stopped by `close`. */
export class SandboxMaker {
  readonly tested: EngineUnderTest;
  readonly owner = newId();
  readonly #made: EngineSandbox[] = [];

  constructor(tested: EngineUnderTest) {
    this.tested = tested;
  }

  async make(changes: Partial<SandboxSpec> = {}): Promise<EngineSandbox> {
    const { engine, image } = this.tested;
    const spec: SandboxSpec = {
      image: image === undefined ? undefined : await engine.prepare(image, inTime()),
      name: 'main',
      workdir: WORKDIR,
      user: undefined,
      env: { GREETING: 'hello' },
      limits: { memoryBytes: 512 * MIB, cpus: undefined, processes: 128, diskBytes: undefined },
      network: { kind: 'none' },
      capabilities: 'default',
      mounts: [],
      labels: { owner: this.owner, holder: 'suite', run: newId(), session: newId(), environment: 'suite' },
      lifeMs: 10 * 60_000,
      ...changes,
    };
    const sandbox = await engine.create(spec, inTime());
    this.#made.push(sandbox);
    return sandbox;
  }

  async close(): Promise<void> {
    await Promise.all(this.#made.map((sandbox) => sandbox.stop()));
  }
}

export function toProcess(command: string | readonly string[], more: Partial<ProcessRequest> = {}): ProcessRequest {
  const list = typeof command === 'string' ? ['sh', '-c', command] : command;
  return { command: list, cwd: WORKDIR, env: {}, user: undefined, pty: undefined, ...more };
}

/** Runs a list, or a text by `sh -c`, through the one exec. */
export async function run(
  sandbox: EngineSandbox,
  command: string | readonly string[],
  more: Partial<ExecRequest> = {},
  signal: AbortSignal = inTime(),
): Promise<ExecResult> {
  const { pty: _, ...program } = toProcess(command);
  const request = { ...program, stdin: undefined, timeoutMs: 30_000, maxOutputBytes: MIB, ...more };
  return await runExec(sandbox, request, signal);
}

/** The standard output of a command that has to succeed. */
export async function say(sandbox: EngineSandbox, command: string): Promise<string> {
  const { exitCode, stdout, stderr } = await run(sandbox, command);
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${stderr}`);
  return stdout.trim();
}

/** Runs a condition inside until it is true. @throws Error after its time. */
export async function until(sandbox: EngineSandbox, condition: string): Promise<void> {
  const loop = `i=0; until ${condition}; do i=$((i+1)); [ $i -lt 200 ] || exit 1; sleep 0.05; done`;
  const { exitCode } = await run(sandbox, loop);
  if (exitCode !== 0) throw new Error(`It did not come true inside: ${condition}`);
}

export async function collect(entries: AsyncIterable<FileContent>): Promise<Record<string, FileContent>> {
  const found: Record<string, FileContent> = {};
  for await (const entry of entries) found[entry.name] = entry;
  return found;
}

export function file(name: string, text: string, mode = 0o644): FileContent {
  return { name, type: 'file', mode, content: Buffer.from(text) };
}

export function textOf(entry: FileContent | undefined): string {
  return Buffer.from(entry?.content ?? new Uint8Array()).toString('utf8');
}
