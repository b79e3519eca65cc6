import type { Logger } from 'pino';
import type { AgentDefinition } from '../agents/agent-definition.ts';
import type { AgentSeat } from '../agents/agent-seat.ts';
import { type AgentEnd, playAgent } from '../agents/play-agent.ts';
import { McpEnvironmentClient } from '../client/mcp-environment-client.ts';
import { AGENT_FAILED, AGENT_WITHOUT_TOOLS, BoundaryError, messageOf } from '../contract/errors.ts';
import type { Json } from '../contract/json.ts';
import { SEAT_MCP_PATH } from '../contract/seat.ts';
import type { Agent, AgentTurn } from '../rollout/agent.ts';
import { type LoopbackDoor, listenAtDoor } from './loopback-door.ts';
import { SeatAgent } from './seat-agent.ts';
import { createSeatConfigs, seatAddress, seatVariables } from './seat-configs.ts';
import { SeatDoor } from './seat-door.ts';

export interface CommandAgentOptions {
  readonly definition: AgentDefinition;
  /** The run's model. Asked for by an agent that does not bring its own. */
  readonly model: string;
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
    this.#seat = new SeatAgent({ hasModel: hasModel(options) });
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
    const { definition, hidden, logger } = this.#options;
    const { client } = turn;
    if (!(client instanceof McpEnvironmentClient)) throw new TypeError('The environment of a seat is reached over MCP');
    const isOver = this.#seat.over;
    const door = await SeatDoor.open({
      agent: this.#seat,
      turn,
      client,
      setup: turn.setup,
      answer: hasModel(this.#options) ? 'either' : 'tool',
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
      if (!isOver.aborted) this.#conclude(end, turn);
    } catch (thrown) {
      if (!isOver.aborted) throw thrown;
    } finally {
      await served?.close(LAST_REPLIES_MS);
      await door.close();
    }
  }

  /** It has ended by itself: its last text is its answer, where there is one. */
  #conclude(end: AgentEnd, { progress }: AgentTurn): void {
    const { definition } = this.#options;
    const { name } = definition;
    if (end.isWithoutTools) {
      this.#seat.fail(new BoundaryError('agent', AGENT_WITHOUT_TOOLS, `The agent ${name} ${end.status}`));
      return;
    }
    const last = progress.responses.at(-1)?.message;
    const hasAnswered = last !== undefined && (end.isDone || last.tool_calls.length === 0);
    if (hasAnswered) this.#seat.end('answered');
    else if (!hasModel(this.#options) && end.isDone && end.text !== null) this.#seat.answer(end.text);
    else
      this.#seat.fail(
        new BoundaryError('agent', AGENT_FAILED, `The agent ${name} ${end.status}, before it had answered`),
      );
  }

  #toSeat({ base, secret }: LoopbackDoor, { setup }: AgentTurn): AgentSeat {
    const addresses = {
      api_key: secret,
      openai_base_url: `${base}/v1`,
      anthropic_base_url: base,
      gemini_base_url: base,
    };
    return {
      prompt: setup.prompt,
      system: setup.system,
      model: hasModel(this.#options) ? this.#options.model : null,
      mcp: seatAddress(base, secret),
      mcpUrl: `${base}/r/${secret}${SEAT_MCP_PATH}`,
      addresses: hasModel(this.#options) ? addresses : null,
      env: seatVariables(base),
      configs: createSeatConfigs(base, secret),
    };
  }
}

function hasModel({ definition }: CommandAgentOptions): boolean {
  return definition.needs !== 'none';
}

/** This machine cannot start it, or its seat could not be opened: that says nothing about the agent. */
function toFailure(thrown: unknown): BoundaryError {
  if (thrown instanceof BoundaryError) return thrown;
  return new BoundaryError('worker', 'internal_error', messageOf(thrown), { cause: thrown });
}
