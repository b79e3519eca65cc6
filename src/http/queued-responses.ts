import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Responses that wait for others on their connection. */
const QUEUED = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * A client may send requests without waiting for answers, which then queue. When the connection ends, Node.js closes only
 * the response that is being written: what the others are for would go on for ever. With this each of them is closed.
 */
export function closingQueued(app: RequestListener): RequestListener {
  return (request, response) => {
    if (response.socket === null) enqueue(request.socket, response);
    app(request, response);
  };
}

function enqueue(socket: Socket, response: ServerResponse): void {
  const queued = QUEUED.get(socket) ?? openQueue(socket);
  queued.add(response);
  // Its turn has come: from here on Node.js closes it.
  response.once('socket', () => queued.delete(response));
}

/** One listener for all: one for each response would be a leak to Node.js. */
function openQueue(socket: Socket): Set<ServerResponse> {
  const queued = new Set<ServerResponse>();
  QUEUED.set(socket, queued);
  socket.once('close', () => {
    for (const response of queued) {
      response.destroy();
      response.emit('close');
    }
  });
  return queued;
}
