import type { Logger } from 'pino';
import {
  AGENT_FAILED,
  AGENT_WITHOUT_TOOLS,
  BoundaryError,
  ERRORS,
  type ErrorCode,
  messageOf,
} from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { EventBody, EventOf } from '../../contract/service/event.ts';
import { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import type { AgentModel } from '../../models/gateway/agent-call.ts';
import type { AgentDefinition } from '../agents/agent-definition.ts';
import type { AgentSeat } from '../agents/agent-seat.ts';
import { type AgentEnd, playAgent } from '../agents/play-agent.ts';
import type { Agent, AgentTurn } from '../session/agent.ts';
import { type LoopbackListener, listenOnLoopback } from './loopback-listener.ts';
import { SeatAgent } from './seat-agent.ts';
import {
  createSeatConfigs,
  modelAddresses,
  seatAddress,
  seatAddressWithSecret,
  seatVariables,
} from './seat-configs.ts';
import { SeatEndpoints } from './seat-endpoints.ts';

export interface CommandAgentOptions {
  readonly definition: AgentDefinition;
  /** The run's model; undefined if the agent brings its own. */
  readonly model: AgentModel | undefined;
  /** Folders of Proctor that no sandbox shows. */
  readonly hidden: readonly string[];
  readonly logger: Logger;
}

/** Milliseconds for pending replies after the turn is over. */
const LAST_REPLIES_MS = 1_000;
/** Milliseconds until an unused MCP session ends. Its agent has exited or does something else. */
const IDLE_MS = 20 * 60_000;

/**
 * An agent that is a command. It gets a seat at a local address and plays there in its own process. It answers with
 * `submit_answer`, or with its last text when it ends (contract section 8, "Agents as commands"). All of its processes
 * are gone when its turn is over.
 */
export class CommandAgent implements Agent {
  readonly playsOnce = true;
  readonly #options: CommandAgentOptions;
  readonly #seat: SeatAgent;

  constructor(options: CommandAgentOptions) {
    this.#options = options;
    this.#seat = new SeatAgent({ hasModel: options.model !== undefined });
  }

  get submitted(): Json | undefined {
    return this.#seat.submitted;
  }

  async takeTurn(turn: AgentTurn): ReturnType<Agent['takeTurn']> {
    const taking = this.#seat.takeTurn(turn);
    const isBegun = await Promise.race([this.#seat.begun.then(() => true), taking.then(() => false)]);
    if (!isBegun) return await taking;
    try {
      const [status] = await Promise.all([taking, this.#play(turn)]);
      return status;
    } catch (thrown) {
      // Wait until the process is gone.
      await this.#played;
      throw thrown;
    }
  }

  #played: Promise<void> = Promise.resolve();

  #play(turn: AgentTurn): Promise<void> {
    this.#played = this.#playAtDoor(turn).catch((thrown: unknown) => void this.#seat.fail(toFailure(thrown)));
    return this.#played;
  }

  async #playAtDoor(turn: AgentTurn): Promise<void> {
    const { definition, model, hidden, logger } = this.#options;
    const { client } = turn;
    if (!(client instanceof McpEnvironmentClient)) throw new TypeError('The environment of a seat is reached over MCP');
    const isOver = this.#seat.over;
    const watched = watchGateway(turn);
    const door = await SeatEndpoints.open({
      agent: this.#seat,
      turn: watched.turn,
      client,
      setup: turn.setup,
      answer: model === undefined ? 'tool' : 'either',
      model,
      now: Date.now,
      idleTimeoutMs: IDLE_MS,
      report: (line) => logger.warn(line),
    });
    let served: LoopbackListener | undefined;
    try {
      served = await listenOnLoopback(door, logger);
      const end = await playAgent({
        agent: definition,
        seat: this.#toSeat(served, turn),
        signal: isOver,
        hidden,
        onLog: (record) => turn.recorder.record({ type: 'log', ...record }),
      });
      if (!isOver.aborted) this.#conclude(end, turn, watched.failure());
    } catch (thrown) {
      if (!isOver.aborted) throw thrown;
    } finally {
      await served?.close(LAST_REPLIES_MS);
      await door.close();
    }
  }

  /** Decides the turn after the agent exited by itself. Its last text, if any, is its answer. */
  #conclude(end: AgentEnd, { progress }: AgentTurn, gateway: BoundaryError | undefined): void {
    const { definition, model } = this.#options;
    if (end.isWithoutTools) {
      this.#seat.fail(new BoundaryError('agent', AGENT_WITHOUT_TOOLS, `The agent ${definition.name} ${end.status}`));
      return;
    }
    const last = progress.responses.at(-1)?.message;
    // After a crash in the middle of its work, the last text is no answer.
    const isFinal = end.isDone || last?.tool_calls.length === 0;
    if (gateway !== undefined) this.#seat.fail(gateway);
    else if (isFinal && this.#seat.lastText !== null) this.#seat.end('answered');
    else if (model === undefined && end.isDone && end.text !== null) this.#seat.answer(end.text);
    else {
      const message = `The agent ${definition.name} ${end.status}, before it had answered`;
      this.#seat.fail(new BoundaryError('agent', AGENT_FAILED, message));
    }
  }

  #toSeat({ base, secret }: LoopbackListener, { setup }: AgentTurn): AgentSeat {
    const { model } = this.#options;
    const addresses = model === undefined ? null : modelAddresses(base, secret);
    return {
      prompt: setup.prompt,
      system: setup.system,
      model: model?.name ?? null,
      mcp: seatAddress(base, secret),
      mcpUrl: seatAddressWithSecret(base, secret),
      env: seatVariables(base, addresses),
      configs: createSeatConfigs(base, secret, addresses !== null),
    };
  }
}

/** A machine that cannot start the agent, or open its seat, says nothing about the agent. */
function toFailure(thrown: unknown): BoundaryError {
  if (thrown instanceof BoundaryError) return thrown;
  return new BoundaryError('worker', 'internal_error', messageOf(thrown), { cause: thrown });
}

/** Watches the recorded calls of the agent's model. An unanswered call may be the reason why the agent ended. */
function watchGateway(turn: AgentTurn): { readonly turn: AgentTurn; failure(): BoundaryError | undefined } {
  let failure: BoundaryError | undefined;
  const { recorder } = turn;
  const record = (event: EventBody) => {
    if (event.type === 'model.responded') failure = undefined;
    if (event.type === 'model.failed' && event.branch === null) failure = toGatewayError(event);
    recorder.record(event);
  };
  const listening = {
    record,
    settled: () => recorder.settled(),
    toStored: <T extends Json>(value: T) => recorder.toStored(value),
  };
  return { turn: { ...turn, recorder: listening }, failure: () => failure };
}

/** Returns undefined for failures that the agent caused, such as a call that it cancelled. */
function toGatewayError({ code, message, status }: EventOf<'model.failed'>): BoundaryError | undefined {
  if (!isErrorCode(code) || code === 'run_finished') return undefined;
  return new BoundaryError('model', code, message, { status });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
