import { messageOf } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { LogRecord } from '../contract/trace.ts';
import { AcpSession, AcpWithoutHttpError } from './acp-session.ts';
import type { AgentDefinition } from './agent-definition.ts';
import { AgentProcess } from './agent-process.ts';
import type { AgentSeat } from './agent-seat.ts';
import { prepareStart, promptText, type StartOptions } from './agent-start.ts';

export interface PlayOptions extends StartOptions {
  readonly agent: AgentDefinition;
  readonly seat: AgentSeat;
  /** Aborted when nothing of the agent is wanted any more: its processes are ended. */
  readonly signal: AbortSignal;
  /** Takes what it prints, and what there is to say of its start. */
  onLog(record: Omit<LogRecord, 'at'>): void;
}

/** How an agent ended. */
export interface AgentEnd {
  /** In words that continue "The agent …". */
  readonly status: string;
  /** It ended by itself, as one that is done: with code 0, or by answering the prompt. */
  readonly isDone: boolean;
  /** It cannot take the tools of its seat. */
  readonly isWithoutTools: boolean;
  /** The text that it wrote last, where its protocol tells; null elsewhere. */
  readonly text: string | null;
}

/**
 * Starts an agent at a seat, and waits until it has ended, with all of its processes, and nothing of it is left on the
 * machine. How it fails is its result.
 *
 * @throws Error where this machine cannot start it; the reason of the signal where that was aborted before.
 */
export async function playAgent(options: PlayOptions): Promise<AgentEnd> {
  const { agent, seat, signal, onLog } = options;
  signal.throwIfAborted();
  const start = await prepareStart(agent, seat, options);
  try {
    signal.throwIfAborted();
    if (start.openBecause !== undefined) {
      const message = `The agent runs without a sandbox, as the user of this process: ${start.openBecause}`;
      onLog({ level: 'warning', logger: 'proctor', message });
    }
    const acp = agent.protocol === 'acp' ? { session: undefined as AcpSession | undefined } : undefined;
    const running = new AgentProcess({
      command: start.command,
      variables: start.variables,
      cwd: start.workingDirectory,
      hasInput: acp !== undefined,
      onLog,
      onOutput: acp && ((chunk) => acp.session?.read(chunk)),
    });
    const stop = () => void running.end();
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (acp === undefined || running.input === null) return ofExit(await running.ended);
      acp.session = new AcpSession(running.input);
      return await playOverAcp(acp.session, running, { cwd: start.workingDirectory, seat, signal });
    } finally {
      signal.removeEventListener('abort', stop);
      await running.end();
    }
  } finally {
    start.remove();
  }
}

async function playOverAcp(
  session: AcpSession,
  running: AgentProcess,
  { cwd, seat, signal }: { readonly cwd: string } & Pick<PlayOptions, 'seat' | 'signal'>,
): Promise<AgentEnd> {
  void running.ended.then(({ status }) => session.close(new Error(`it ${status}`)));
  const isWithoutTools = false;
  try {
    const toPrompt = ({ images }: { readonly images: boolean }) => toBlocks(seat, images);
    const { stopReason, text } = await session.play({ cwd, mcp: seat.mcp, toPrompt }, signal);
    const isDone = stopReason === 'end_turn';
    return { status: `ended its turn (${stopReason})`, isDone, isWithoutTools, text };
  } catch (error) {
    if (signal.aborted) {
      await running.end();
      return ofExit(await running.ended);
    }
    const status = `did not play over ACP: ${messageOf(error)}`;
    return { status, isDone: false, isWithoutTools: error instanceof AcpWithoutHttpError, text: null };
  }
}

function ofExit({ code, status }: { readonly code: number | null; readonly status: string }): AgentEnd {
  return { status, isDone: code === 0, isWithoutTools: false, text: null };
}

/** The task as content blocks: texts, and images where the agent takes them. */
function toBlocks(seat: AgentSeat, images: boolean): readonly JsonObject[] {
  const parts = seat.prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const shown = images ? parts.filter(({ type }) => type === 'image') : [];
  return [{ type: 'text', text: promptText(seat) }, ...shown];
}
