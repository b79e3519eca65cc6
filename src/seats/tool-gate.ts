import { AGENT_WITHOUT_TOOLS, BoundaryError } from '../contract/errors.ts';
import type { DialectRequest } from '../dialects/dialect.ts';
import { inWords, withDeadline } from '../runtime/deadline.ts';
import { hintFor } from './agent-hints.ts';
import type { SeatTools } from './seat-tools.ts';

/** Milliseconds that the first main call waits for the agent to list its tools. */
const GATE_MS = 60_000;

/**
 * No first call without tools: an agent whose MCP client is slow would play, and be graded, without the tools of its
 * scenario (contract section 8).
 */
export class ToolGate {
  readonly #tools: SeatTools;
  readonly #waitMs: number;
  readonly #listed: Promise<void>;
  #isListed = false;
  #isOpen = false;
  #list: () => void = () => {};

  constructor(tools: SeatTools, waitMs = GATE_MS) {
    this.#tools = tools;
    this.#waitMs = waitMs;
    this.#isOpen = tools.isEmpty;
    this.#listed = new Promise((resolve) => {
      this.#list = resolve;
    });
  }

  /** Whether the main conversation has begun. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The agent was given the list of its tools. */
  listed(): void {
    this.#isListed = true;
    this.#list();
  }

  /**
   * Lets a call pass that offers tools: the first one has to offer all of the seat's, and waits until they were listed.
   *
   * @param agent as it names itself. @throws BoundaryError `agent`, agent_without_tools; the reason of the signal.
   */
  async pass(request: DialectRequest, agent: string, signal: AbortSignal): Promise<void> {
    if (this.#isOpen) return;
    const missing = this.#tools.missingIn(request);
    if (missing.length > 0) {
      const names = missing.slice(0, 5).join(', ');
      const more = missing.length > 5 ? ` and ${missing.length - 5} more` : '';
      throw withoutTools(
        `its first call of the model does not offer the tools of the scenario (${names}${more})`,
        agent,
      );
    }
    if (!this.#isListed) {
      const toError = () => withoutTools(`it has not listed its tools over MCP within ${inWords(this.#waitMs)}`, agent);
      await withDeadline(() => this.#listed, { ms: this.#waitMs, signal, toError });
    }
    this.#isOpen = true;
  }

  /** The fault of an agent that has asked its model and never begun. */
  neverBegun(agent: string): BoundaryError {
    return withoutTools('none of its calls of the model offered the tools of the scenario', agent);
  }
}

function withoutTools(problem: string, agent: string): BoundaryError {
  return new BoundaryError(
    'agent',
    AGENT_WITHOUT_TOOLS,
    `The agent began without its tools: ${problem}. The run says nothing about the model. ${hintFor(agent)}`,
  );
}
