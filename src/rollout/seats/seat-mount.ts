import type { IncomingMessage, ServerResponse } from 'node:http';
import { SEAT_MCP_PATH } from '../../contract/service/seat.ts';
import { ENDPOINT_OPERATIONS } from '../../environment/server/http/operations.ts';
import { refuseFailed } from '../../environment/server/http/send-refusal.ts';
import { Refusal, RPC_CODE } from '../../environment/server/refusal.ts';
import type { Mount } from '../../support/http/api/route.ts';
import { secretOf } from './model-endpoint/request-secret.ts';
import type { SeatEndpoints } from './seat-endpoints.ts';

/** Finds the seats of a server by their secrets. */
export interface SeatDoors {
  /** Returns `over` if the run of the seat has ended; undefined if no seat has the secret. */
  find(secret: string | undefined): SeatEndpoints | 'over' | undefined;
  /** Lets another process that holds the seat answer. Returns undefined if there is none. */
  elsewhere?(
    request: IncomingMessage,
    response: ServerResponse,
    secret: string | undefined,
  ): Promise<'answered' | 'over' | undefined>;
}

/**
 * The MCP address of all seats. A wrong secret gets a 404, because clients react to a 401 with a search for a sign-in.
 */
export function createSeatMount(doors: SeatDoors, report: (line: string) => void): Mount {
  return {
    path: SEAT_MCP_PATH,
    methods: ['POST', 'GET', 'DELETE'],
    hasOwnSecrets: true,
    operations: ENDPOINT_OPERATIONS,
    async handle(request, response) {
      const secret = secretOf(request);
      const door = doors.find(secret);
      if (door !== undefined && door !== 'over' && !door.isOver) return await door.handleMcp(request, response);
      if (door === undefined && (await doors.elsewhere?.(request, response, secret)) === 'answered') return;
      const message = 'There is no open seat with this secret: it is wrong or missing, or the run has ended';
      throw new Refusal(404, RPC_CODE.sessionNotFound, message);
    },
    refuse: (request, response, thrown) => refuseFailed(request, response, thrown, report),
  };
}
