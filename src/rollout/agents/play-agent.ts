import type { ContentBlock } from '@agentclientprotocol/sdk';
import { messageOf } from '../../contract/errors.ts';
import type { LogRecord } from '../../contract/service/trace.ts';
import type { AcpSession } from './acp-session.ts';
import type { AgentDefinition } from './agent-definition.ts';
import { AgentProcess } from './agent-process.ts';
import type { AgentSeat } from './agent-seat.ts';
import { prepareStart, promptText, type StartOptions } from './agent-start.ts';

export interface PlayOptions extends StartOptions {
  readonly agent: AgentDefinition;
  readonly seat: AgentSeat;
  /** Ends the agent's processes when aborted. */
  readonly signal: AbortSignal;
  /** Logs the agent's output and messages about its start. */
  onLog(record: Omit<LogRecord, 'at'>): void;
}

/** How an agent ended. */
export interface AgentEnd {
  /** End of the process, in words that continue "The agent …". */
  readonly status: string;
  /** True if the agent finished by itself: it exited with code 0, or answered the prompt. */
  readonly isDone: boolean;
  /** True if the agent cannot use the MCP server of its seat. */
  readonly isWithoutTools: boolean;
  /** Last text of the agent if its protocol reports it; otherwise null. */
  readonly text: string | null;
}

/**
 * Starts an agent at a seat. Waits until all of its processes have ended and its files are removed. A failure of the
 * agent is part of the result.
 *
 * @throws Error if this machine cannot start the agent; the signal's reason if it was aborted before.
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
    // The SDK is only loaded for agents that need it.
    const acp = agent.protocol === 'acp' ? await import('./acp-session.ts') : undefined;
    let session: AcpSession | undefined;
    const running = new AgentProcess({
      command: start.command,
      variables: start.variables,
      cwd: start.workingDirectory,
      hasSandbox: start.openBecause === undefined,
      hasInput: acp !== undefined,
      onLog,
      onOutput: acp && ((chunk) => session?.read(chunk)),
    });
    const stop = () => void running.end();
    signal.addEventListener('abort', stop, { once: true });
    try {
      let end: AgentEnd;
      if (acp === undefined || running.input === null) end = ofExit(await running.ended);
      else {
        session = new acp.AcpSession(running.input);
        end = await playOverAcp(session, running, { cwd: start.workingDirectory, seat, signal });
      }
      const { isStarted, status } = await running.end();
      if (!isStarted) throw new Error(`The agent ${agent.name} ${status}`);
      return end;
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
  try {
    const toPrompt = ({ images }: { readonly images: boolean }) => toBlocks(seat, images);
    const { stopReason, text } = await session.play({ cwd, mcp: seat.mcp, toPrompt }, signal);
    const isDone = stopReason === 'end_turn';
    return { status: `ended its turn (${stopReason})`, isDone, isWithoutTools: false, text };
  } catch (error) {
    if (signal.aborted) {
      await running.end();
      return ofExit(await running.ended);
    }
    const status = `did not play over ACP: ${messageOf(error)}`;
    return { status, isDone: false, isWithoutTools: session.isWithoutTools, text: null };
  }
}

function ofExit({ code, status }: { readonly code: number | null; readonly status: string }): AgentEnd {
  return { status, isDone: code === 0, isWithoutTools: false, text: null };
}

/** The task as content blocks: texts, and images where the agent takes them. */
function toBlocks(seat: AgentSeat, images: boolean): readonly ContentBlock[] {
  const parts = seat.prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const shown = images ? parts.filter(({ type }) => type === 'image') : [];
  return [{ type: 'text', text: promptText(seat) }, ...shown];
}
