import type { IncomingMessage } from 'node:http';
import { SEAT_MCP_PATH } from '../contract/seat.ts';
import type { Mount } from '../http/route.ts';
import { ENDPOINT_OPERATIONS } from '../mcp/http/operations.ts';
import { refuseFailed } from '../mcp/http/send-refusal.ts';
import { Refusal, RPC_CODE } from '../mcp/refusal.ts';
import type { SeatDoor } from './seat-door.ts';

/** The seats of a server, by their secrets. */
export interface SeatDoors {
  /** `over`: its run has ended. Undefined where no seat has it. */
  find(secret: string | undefined): SeatDoor | 'over' | undefined;
}

/** The MCP address of all seats. A wrong secret is a 404, since clients answer a 401 by looking for a sign-in. */
export function createSeatMount(doors: SeatDoors, report: (line: string) => void): Mount {
  return {
    path: SEAT_MCP_PATH,
    methods: ['POST', 'GET', 'DELETE'],
    hasOwnSecrets: true,
    operations: ENDPOINT_OPERATIONS,
    async handle(request, response) {
      const door = doors.find(bearerOf(request));
      if (door !== undefined && door !== 'over' && !door.isOver) return await door.handleMcp(request, response);
      const message = 'There is no open seat with this secret: it is wrong or missing, or the run has ended';
      throw new Refusal(404, RPC_CODE.sessionNotFound, message);
    },
    refuse: (request, response, thrown) => refuseFailed(request, response, thrown, report),
  };
}

/** The token of `Authorization: Bearer …`. */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
}
