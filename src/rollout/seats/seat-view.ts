import type { Seat } from '../../contract/service/seat.ts';
import { createSeatConfigs, modelAddresses, seatAddress, seatVariables } from './seat-configs.ts';
import type { HeldSeat } from './seats.ts';

/** Placeholder for a secret that must not be shown. */
export const SECRET_PLACE = '<secret>';

export interface SeatPlaces {
  /** Address of the service for the agent, without a slash at the end. */
  readonly base: string;
  /** Address of the trace pages. */
  readonly appUrl: string;
}

/** The seat in the format of the API. @param secret the secret or its placeholder. */
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
