import { AGENT_WITHOUT_TOOLS, BoundaryError } from '../../contract/errors.ts';
import type { DialectRequest } from '../../models/dialects/dialect.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { durationText } from '../../support/text/figures.ts';
import { hintFor } from './agent-hints.ts';
import type { SeatTools } from './seat-tools.ts';

/** Milliseconds that the first main call waits for the agent to list its tools. */
const GATE_MS = 60_000;

/**
 * Delays the first model call until the agent has listed its tools. An agent with a slow MCP client would otherwise
 * play, and be graded, without the tools of its scenario (contract section 8).
 */
export class ToolsListedCheck {
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

  /** True once the main conversation has begun. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Records that the agent got the list of its tools. */
  listed(): void {
    this.#isListed = true;
    this.#list();
  }

  /**
   * Lets a call with tools pass. The first one has to offer all required tools of the seat, and waits until they are
   * listed.
   *
   * @param agent name that the agent gave. @throws BoundaryError `agent`, agent_without_tools; the signal's reason.
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
      const toError = () =>
        withoutTools(`it has not listed its tools over MCP within ${durationText(this.#waitMs)}`, agent);
      await withDeadline(() => this.#listed, { ms: this.#waitMs, signal, toError });
    }
    this.#isOpen = true;
  }

  /** The error for an agent that asked its model but never began the main conversation. */
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
