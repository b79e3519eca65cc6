import type { PromptMessage } from '../../contract/scenario.ts';
import type { SeatConfigs } from '../../contract/service/seat.ts';

/** A seat as an agent's command sees it: a task and addresses, independent of the server behind them. */
export interface AgentSeat {
  readonly prompt: readonly PromptMessage[];
  readonly system: string | null;
  /** The run's model; null if the agent brings its own. */
  readonly model: string | null;
  readonly mcp: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Address with the secret in its path, for clients that cannot send headers. */
  readonly mcpUrl: string;
  /** Variables that make agents wait for their tools, and the addresses for their model calls. */
  readonly env: Readonly<Record<string, string>>;
  readonly configs: SeatConfigs;
}
