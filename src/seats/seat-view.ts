import type { Seat } from '../contract/seat.ts';
import { createSeatConfigs, modelAddresses, seatAddress, seatVariables } from './seat-configs.ts';
import type { HeldSeat } from './seats.ts';

/** Stands for the secret where that is not told. */
export const SECRET_PLACE = '<secret>';

export interface SeatPlaces {
  /** Address of the service for the agent, without a slash at the end. */
  readonly base: string;
  /** Where the trace pages are. */
  readonly appUrl: string;
}

/** A seat as its opener is told of it. @param secret, or what stands for it. */
export function toSeat(held: HeldSeat, secret: string, { base, appUrl }: SeatPlaces): Seat {
  const model = held.request.model === null ? null : modelAddresses(base, secret);
  return {
    trace_id: held.traceId,
    trace_url: `${appUrl}/traces/${held.traceId}`,
    status: 'running',
    expires_at: new Date(held.createdAt + held.request.timeout_seconds * 1_000).toISOString(),
    prompt: [...held.setup.prompt],
    system: held.setup.system,
    mcp: seatAddress(base, secret),
    model,
    env: seatVariables(base, model),
    configs: createSeatConfigs(base, secret, model !== null),
  };
}
