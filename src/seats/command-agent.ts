import type { Logger } from 'pino';
import type { AgentDefinition } from '../agents/agent-definition.ts';
import type { AgentSeat } from '../agents/agent-seat.ts';
import { type AgentEnd, playAgent } from '../agents/play-agent.ts';
import { McpEnvironmentClient } from '../client/mcp-environment-client.ts';
import {
  AGENT_FAILED,
  AGENT_WITHOUT_TOOLS,
  BoundaryError,
  ERRORS,
  type ErrorCode,
  messageOf,
} from '../contract/errors.ts';
import type { EventBody, EventOf } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import type { AgentModel } from '../model/agent-call.ts';
import type { Agent, AgentTurn } from '../rollout/agent.ts';
import { type LoopbackDoor, listenAtDoor } from './loopback-door.ts';
import { SeatAgent } from './seat-agent.ts';
import {
  createSeatConfigs,
  modelAddresses,
  seatAddress,
  seatAddressWithSecret,
  seatVariables,
} from './seat-configs.ts';
import { SeatDoor } from './seat-door.ts';

export interface CommandAgentOptions {
  readonly definition: AgentDefinition;
  /** The model of the run; undefined for an agent that brings its own. */
  readonly model: AgentModel | undefined;
  /** Folders of Proctor that no sandbox shows. */
  readonly hidden: readonly string[];
  readonly logger: Logger;
}

/** Milliseconds for replies that are on their way when the turn is over. */
const LAST_REPLIES_MS = 1_000;
/** An MCP session that nobody uses: its agent has ended, or does something else. */
const IDLE_MS = 20 * 60_000;

/**
 * An agent that is a command: it gets a seat of its own at an address of this machine, plays there in a process of its
 * own, and has answered when it has submitted an answer, or has ended with a last text (contract section 8, "Agents as
 * commands"). When its turn is over nothing of it runs any more.
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
      // Whatever it was, the process is gone before anything else happens.
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
    const door = await SeatDoor.open({
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
    let served: LoopbackDoor | undefined;
    try {
      served = await listenAtDoor(door, logger);
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

  /** It has ended by itself: its last text is its answer, where there is one. */
  #conclude(end: AgentEnd, { progress }: AgentTurn, gateway: BoundaryError | undefined): void {
    const { definition, model } = this.#options;
    if (end.isWithoutTools) {
      this.#seat.fail(new BoundaryError('agent', AGENT_WITHOUT_TOOLS, `The agent ${definition.name} ${end.status}`));
      return;
    }
    const last = progress.responses.at(-1)?.message;
    // One that crashed in the middle of its work has said nothing that counts.
    const isFinal = end.isDone || last?.tool_calls.length === 0;
    if (gateway !== undefined) this.#seat.fail(gateway);
    else if (isFinal && this.#seat.lastText !== null) this.#seat.end('answered');
    else if (model === undefined && end.isDone && end.text !== null) this.#seat.answer(end.text);
    else {
      const message = `The agent ${definition.name} ${end.status}, before it had answered`;
      this.#seat.fail(new BoundaryError('agent', AGENT_FAILED, message));
    }
  }

  #toSeat({ base, secret }: LoopbackDoor, { setup }: AgentTurn): AgentSeat {
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

/** This machine cannot start it, or its seat could not be opened: that says nothing about the agent. */
function toFailure(thrown: unknown): BoundaryError {
  if (thrown instanceof BoundaryError) return thrown;
  return new BoundaryError('worker', 'internal_error', messageOf(thrown), { cause: thrown });
}

/** Listens to what is recorded of the calls of the agent's model: one that its gateway has not answered may be why it ended. */
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

/** Failures of the agent's own, such as a call that it has given up, are none of its gateway. */
function toGatewayError({ code, message, status }: EventOf<'model.failed'>): BoundaryError | undefined {
  if (!isErrorCode(code) || code === 'run_finished') return undefined;
  return new BoundaryError('model', code, message, { status });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}
